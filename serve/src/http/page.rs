//! The page at `/`: files that are part of the program.

use axum::extract::Path;
use axum::response::Response;

use super::reply::text;
use crate::fault::Fault;

/// A file with its name and media type.
macro_rules! files {
    ($($name:literal: $media_type:literal,)*) => {
        [$(($name, $media_type, include_str!(concat!("../../page/", $name)))),*]
    };
}

const FILES: [(&str, &str, &str); 11] = files! {
    "page.css": "text/css; charset=utf-8",
    "main.js": "text/javascript; charset=utf-8",
    "ask.js": "text/javascript; charset=utf-8",
    "browse.js": "text/javascript; charset=utf-8",
    "sparql.js": "text/javascript; charset=utf-8",
    "calls.js": "text/javascript; charset=utf-8",
    "compare.js": "text/javascript; charset=utf-8",
    "combo.js": "text/javascript; charset=utf-8",
    "dom.js": "text/javascript; charset=utf-8",
    "graph.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
};

pub(super) async fn index() -> Response {
    text(
        "text/html; charset=utf-8",
        include_str!("../../page/index.html"),
    )
}

pub(super) async fn file(Path(name): Path<String>) -> Result<Response, Fault> {
    let found = FILES.iter().find(|(known, _, _)| *known == name);
    found
        .map(|&(_, media_type, content)| text(media_type, content))
        .ok_or_else(|| Fault::unknown("unknown_address", "the page has no such file"))
}
