const find = document.getElementById("find"), which = document.getElementById("which");
function filter() {
  const text = find.value.toLowerCase();
  for (const q of document.querySelectorAll(".q")) {
    const fits = (!which.value || q.classList.contains(which.value)) && q.textContent.toLowerCase().includes(text);
    q.hidden = !fits;
  }
}
if (find) { find.oninput = filter; which.onchange = filter; }
