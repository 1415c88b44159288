//! A local model as planner: every turn is decoded under an acceptor, of the live calls or of a
//! grammar.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use common::acceptor::Acceptor;
use common::cancel::Cancel;
use common::transcript::{Role, Turn};
use common::wordings::Wordings;
use engine::{Batch, DecodeSession, Engine, EngineDevice, Generated, Vocab};
use model::{ChatFormat, Encoded, GgufModel, KgAgentInfo, ModelFolder, files, hub};
use toolbox::agent::Agent;
use toolbox::call::{CallAcceptor, Except};
use toolbox::explain::WordTables;
use toolbox::grammar::{Grammar, GrammarAcceptor};
use toolbox::prompt::Template;
use toolbox::rank::Ranker;

use super::learned::{wordings_of, words_of};
use super::{Planner, PlannerInput, Proposal};
use crate::InferError;

/// Maximum tokens of a turn: the longest gold call of the published sets has 80.
const TURN_TOKENS: usize = 256;

/// The abstention threshold for models without a measured one. A lower one costs models trained on
/// little data correct answers; a higher one lets more answers through that are not in the graph
/// (docs/results.md, *What is not in the graph*).
const ABSTENTION_THRESHOLD: f64 = 0.995;

/// Weights up to this size fit into a processor's cache, where one question per thread is faster
/// than a batch.
const CACHED: usize = 32 << 20;
/// Questions in a batch.
const BATCH: usize = 16;

/// The call that abstains.
const ABSTAINING_CALLS: &[&str] = &["ans = end([])"];
/// The turns that abstain, or select nothing: ODA's actions, and the selections of ODA and Triad.
const ABSTAINING_TURNS: &[&str] = &["answer none", "none"];

/// A model ready to decode, shared by the planners of all threads.
pub struct LocalModel {
    engine: Engine,
    chat: ChatFormat,
    vocab: Vocab,
    info: KgAgentInfo,
    name: String,
    words: Arc<WordTables>,
    wordings: Option<Arc<Wordings>>,
}

impl LocalModel {
    /// Loads a model folder, a GGUF file or ORG/NAME of the hub's cache, in its stored format.
    ///
    /// # Errors
    /// [`InferError`] names the file that is missing or wrong.
    pub fn open(path: &Path) -> Result<Self, InferError> {
        Self::open_on(EngineDevice::Cpu, path)
    }

    /// Loads a model onto `device`.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if the device is unavailable or not supported by this build.
    pub fn open_on(device: EngineDevice, path: &Path) -> Result<Self, InferError> {
        let path = &hub::locate(path)?;
        let (engine, tokenizer, info) = if path.is_file() {
            let model = GgufModel::open(path)?;
            let engine = Engine::on(device, model.config.clone(), &model)?;
            (engine, model.tokenizer, model.info)
        } else {
            let folder = ModelFolder::open(path)?;
            let engine = Engine::on(device, folder.config.clone(), &folder.weights()?)?;
            (engine, folder.tokenizer, folder.info)
        };
        let parsed: serde_json::Value =
            serde_json::from_slice(&tokenizer.to_bytes()?).map_err(|error| {
                model::ModelError::Json {
                    path: path.join(files::TOKENIZER),
                    message: error.to_string(),
                }
            })?;
        let chat = ChatFormat::new(tokenizer)?;
        Ok(Self {
            engine,
            vocab: Vocab::of_tokenizer(&parsed, chat.end_of_turn()),
            chat,
            info,
            name: path.display().to_string(),
            words: words_of(path)?,
            wordings: wordings_of(path)?,
        })
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The number of questions that are best answered in one batch; 1 if a batch is no faster.
    #[must_use]
    pub fn batch_size(&self) -> usize {
        if self.engine.is_on_device() || self.engine.bytes() > CACHED {
            BATCH
        } else {
            1
        }
    }

    /// The chat format.
    #[must_use]
    pub fn chat(&self) -> &ChatFormat {
        &self.chat
    }

    /// What the model folder says about its training.
    #[must_use]
    pub fn info(&self) -> &KgAgentInfo {
        &self.info
    }

    /// A warning if the model was trained with another ranker: it relies on the order of the lists.
    #[must_use]
    pub fn other_ranker(&self, ranker: &dyn Ranker) -> Option<String> {
        let (ours, theirs) = (ranker.name(), &self.info.ranker);
        (!theirs.is_empty() && *theirs != ours).then(|| {
            format!(
                "the model was trained on lists ranked by `{theirs}`, but these are ranked by \
                 `{ours}`; see --ranker"
            )
        })
    }

    /// The default abstention threshold: measured on the model's held-out examples, or a general
    /// one.
    #[must_use]
    pub fn abstention_threshold(&self) -> f64 {
        self.info
            .abstention_threshold
            .unwrap_or(ABSTENTION_THRESHOLD)
    }

    /// The template that the model was trained on for an agent.
    ///
    /// # Errors
    /// If the model was not trained for this agent, or this version renders the template
    /// differently from the training data.
    pub fn template(&self, agent: Agent) -> Result<Template, InferError> {
        let known = self
            .info
            .templates
            .get(agent.name())
            .and_then(|hash| Template::by_hash(hash));
        let template = known.unwrap_or_else(|| Template::of(agent));
        self.info
            .check_template(agent.name(), &template.hash(), &self.name)?;
        if agent == Agent::KgAgent {
            return Ok(template);
        }
        // Beside their own answer, the other agents decide between programs with the tools that the
        // model knows from the tool loop.
        let loops = self.info.templates.get(Agent::KgAgent.name());
        let tools = loops.and_then(|hash| Template::by_hash(hash));
        Ok(Template {
            tools: tools.map_or(template.tools, |loops| loops.tools),
            ..template
        })
    }
}

/// The decoding state of one thread. The cache outlives a question, so a shared opening is read
/// once.
pub struct LocalPlanner {
    model: Arc<LocalModel>,
    session: DecodeSession,
    /// The question's last prompt and turn; `None` before its first turn.
    held: Option<Vec<u32>>,
    /// The turns of the last prompt and their tokens: the next prompt begins with most of them.
    encoded: Vec<(Turn, Vec<u32>)>,
    abstention_threshold: f64,
    prompts: PromptTokens,
}

/// The conversation whose probability was asked for last: programs that begin alike share what was
/// computed.
#[derive(Default)]
struct Scored {
    ids: Vec<u32>,
    /// The probability of each token from the first trained one on.
    probabilities: Vec<f32>,
}

impl Scored {
    /// The probabilities of the tokens of `ids` from `first` on that are held.
    fn held(&self, ids: &[u32], first: usize) -> &[f32] {
        let same = self.ids.iter().zip(ids).take_while(|(a, b)| a == b).count();
        if self.ids.len() - self.probabilities.len() == first && same > first {
            &self.probabilities[..same - first]
        } else {
            &[]
        }
    }
}

/// Tokens of the prompts of turns.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptTokens {
    /// All of them.
    pub all: usize,
    /// Those that were still held from the turn or the question before and were not read again.
    pub cached: usize,
}

impl LocalPlanner {
    /// A planner that decodes greedily and never abstains by threshold.
    #[must_use]
    pub fn new(model: &Arc<LocalModel>) -> Self {
        Self {
            session: DecodeSession::new(&model.engine),
            model: Arc::clone(model),
            held: None,
            encoded: Vec::new(),
            abstention_threshold: 1.0,
            prompts: PromptTokens::default(),
        }
    }

    /// A planner that shares its steps with the other planners of `batch`, which must belong to
    /// this model's engine. Use each on its own thread.
    #[must_use]
    pub fn in_batch(model: &Arc<LocalModel>, batch: &Arc<Batch>) -> Self {
        Self {
            session: DecodeSession::in_batch(batch),
            ..Self::new(model)
        }
    }

    /// From now on shares its steps with the other planners of `batch`, or decodes alone. A planner
    /// that nobody uses must not be in a batch: the others would wait for it.
    pub fn share_steps(&mut self, batch: Option<&Arc<Batch>>) {
        self.session.share_steps(batch);
    }

    /// Abstains when the unmasked model puts more than `threshold` probability outside the allowed
    /// tokens, or on other tokens where only one was allowed. Knowledge from training that the
    /// graph lacks is then not replaced by the next best answer. 1 turns this off.
    #[must_use]
    pub fn with_abstention_threshold(self, threshold: f64) -> Self {
        Self {
            abstention_threshold: threshold,
            ..self
        }
    }

    /// The tokens of the prompts since the last call.
    pub fn take_prompt_tokens(&mut self) -> PromptTokens {
        std::mem::take(&mut self.prompts)
    }

    /// The prompt of an assistant turn after `turns`.
    fn prompt(&mut self, turns: &[Turn]) -> Result<Vec<u32>, InferError> {
        let held = self.encoded.iter().zip(turns);
        let same = held.take_while(|((held, _), turn)| held == *turn).count();
        self.encoded.truncate(same);
        for turn in &turns[same..] {
            let ids = self.model.chat.encode_turn(turn)?;
            self.encoded.push((turn.clone(), ids));
        }
        let turns = self.encoded.iter().flat_map(|(_, ids)| ids).copied();
        let opened = self.model.chat.open_turn(Role::Assistant);
        Ok(turns.chain([opened]).collect())
    }

    /// Decodes one assistant turn after `turns` under the acceptor. When the model should abstain,
    /// writes the first of `abstaining` that the acceptor accepts.
    fn decode<A: Acceptor>(
        &mut self,
        turns: &[Turn],
        acceptor: &A,
        abstaining: &[&str],
    ) -> Result<Proposal, InferError> {
        let mut prompt = self.prompt(turns)?;
        let limit = self.model.engine.context();
        if prompt.len() + TURN_TOKENS > limit {
            return Err(InferError::TooLong {
                needed: prompt.len() + TURN_TOKENS,
                limit,
            });
        }
        let cached = self.session.ids().iter().zip(&prompt);
        self.prompts.cached += cached.take_while(|(held, new)| held == new).count();
        self.prompts.all += prompt.len();
        let read = prompt.len() - self.known_tokens(&prompt);
        let chat = &self.model.chat;
        let written = engine::generate(
            &mut self.session,
            &prompt,
            acceptor,
            &|text| chat.tokenizer().encode(text).unwrap_or_default(),
            &self.model.vocab,
            TURN_TOKENS,
        )?;
        let abstain = !abstaining.is_empty()
            && !abstaining.contains(&written.text.as_str())
            && self.must_abstain(&prompt, &written)?;
        prompt.extend(&written.ids);
        self.held = Some(prompt);
        let replacement = abstaining
            .iter()
            .find(|text| abstain && acceptor.accepts(text));
        Ok(Proposal {
            text: replacement.map_or(written.text, |text| (*text).to_owned()),
            read,
            decided: written.decided,
            forced: written.forced,
            logprob: rounded(written.logprob),
            replies: Vec::new(),
        })
    }

    /// How many tokens of the prompt this question has read or written before; for its first prompt
    /// the system turns, which all questions share.
    fn known_tokens(&self, prompt: &[u32]) -> usize {
        if let Some(held) = &self.held {
            return held.iter().zip(prompt).take_while(|(a, b)| a == b).count();
        }
        let turns = self.encoded.iter();
        let opening = turns.take_while(|(turn, _)| turn.role == Role::System);
        opening.map(|(_, ids)| ids.len()).sum()
    }

    /// Whether the unmasked model exceeds the abstention threshold anywhere in the text written
    /// after `prompt`: at a decision by the mass outside the allowed tokens, at a forced token by
    /// the mass of all others.
    fn must_abstain(&mut self, prompt: &[u32], written: &Generated) -> Result<bool, InferError> {
        let threshold = self.abstention_threshold;
        if threshold >= 1.0 {
            return Ok(false);
        }
        let exceeds = |mass: f32| 1.0 - f64::from(mass) > threshold;
        if written
            .decisions
            .iter()
            .any(|decision| exceeds(decision.allowed_mass))
        {
            return Ok(true);
        }
        if written.forced == 0 {
            return Ok(false);
        }
        let decided: BTreeSet<usize> = written
            .decisions
            .iter()
            .map(|decision| decision.at)
            .collect();
        let probabilities = self.session.probabilities(prompt, &written.ids)?;
        Ok(probabilities
            .iter()
            .enumerate()
            .any(|(at, &probability)| exceeds(probability) && !decided.contains(&at)))
    }

    /// The log-probability of the trained turns of a program's samples; `None` if one is longer than the
    /// model's context.
    fn logprob_of(
        &mut self,
        samples: &[Encoded],
        scored: &mut Scored,
    ) -> Result<Option<f64>, InferError> {
        let mut sum = 0.0;
        for Encoded { ids, trained } in samples {
            let Some(first) = trained.iter().position(|&trained| trained) else {
                continue;
            };
            if ids.len() > self.model.engine.context() {
                return Ok(None);
            }
            let mut probabilities = scored.held(ids, first).to_vec();
            let (before, text) = ids.split_at(first + probabilities.len());
            probabilities.extend(self.session.probabilities(before, text)?);
            sum += (probabilities.iter().zip(&trained[first..]))
                .filter(|(_, trained)| **trained)
                .map(|(&probability, _)| f64::from(probability.max(f32::MIN_POSITIVE)).ln())
                .sum::<f64>();
            *scored = Scored {
                ids: ids.clone(),
                probabilities,
            };
        }
        Ok(Some(rounded(sum)))
    }
}

/// Rounded to six decimals so that the value survives a round trip through the trace.
fn rounded(logprob: f64) -> f64 {
    (logprob * 1e6).round() / 1e6
}

impl Planner for LocalPlanner {
    fn begin(&mut self, cancel: &Cancel) {
        self.session.cancelled_by(cancel.clone());
        self.held = None;
    }

    fn propose(&mut self, input: &PlannerInput<'_, '_>) -> Result<Proposal, InferError> {
        self.decode(
            input.turns,
            &CallAcceptor::new(input.session.live(input.template.naming)),
            ABSTAINING_CALLS,
        )
    }

    fn propose_except(
        &mut self,
        input: &PlannerInput<'_, '_>,
        rejected: &[String],
    ) -> Result<Option<Proposal>, InferError> {
        let acceptor = CallAcceptor::new(input.session.live(input.template.naming));
        let except = Except::new(&acceptor, rejected);
        if except.is_empty() {
            return Ok(None);
        }
        self.decode(input.turns, &except, ABSTAINING_CALLS)
            .map(Some)
    }

    fn write(&mut self, turns: &[Turn], grammar: &Grammar) -> Result<Proposal, InferError> {
        // Free text could contain the same words with another meaning.
        let abstaining = match grammar {
            Grammar::Free { .. } => &[],
            _ => ABSTAINING_TURNS,
        };
        self.decode(turns, &GrammarAcceptor::new(grammar), abstaining)
    }

    fn logprobs_of(
        &mut self,
        programs: &[Vec<Vec<Turn>>],
        _places: &[usize],
    ) -> Result<Vec<Option<f64>>, InferError> {
        let chat = &self.model.chat;
        let encoded: Vec<Vec<Encoded>> = (programs.iter())
            .map(|samples| samples.iter().map(|turns| chat.encode(turns)).collect())
            .collect::<Result<_, _>>()?;
        // Neighbours that begin alike share what is computed.
        let ids_of = |at: usize| encoded[at].iter().map(|sample| &sample.ids);
        let mut order: Vec<usize> = (0..encoded.len()).collect();
        order.sort_by(|&a, &b| ids_of(a).cmp(ids_of(b)));
        let (mut logprobs, mut scored) = (vec![None; encoded.len()], Scored::default());
        for at in order {
            logprobs[at] = self.logprob_of(&encoded[at], &mut scored)?;
        }
        Ok(logprobs)
    }

    fn program_template(&self) -> Option<Template> {
        self.model.template(Agent::KgAgent).ok()
    }

    fn words(&self) -> Arc<WordTables> {
        Arc::clone(&self.model.words)
    }

    fn wordings(&self) -> Option<Arc<Wordings>> {
        self.model.wordings.clone()
    }

    fn constrained(&self) -> bool {
        true
    }
}
