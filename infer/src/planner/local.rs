//! A local model as planner: every turn is decoded under an acceptor: of what is live, or of a phrase.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use common::acceptor::Acceptor;
use common::transcript::{Role, Turn};
use engine::{Batch, Engine, Generated, Limits, Processor, Sampling, TokenTrie, Vocab};
use model::{ChatFormat, GgufModel, KgAgentInfo, ModelFolder};
use toolbox::call::{CallAcceptor, Except};
use toolbox::grammar::{Grammar, GrammarAcceptor};
use toolbox::prompt::{Agent, Template};

use super::{Planner, PlannerInput, Proposal};
use crate::InferError;

/// Tokens of one turn: the longest gold call of the published sets has 80, and names can be spelled out.
const TURN_TOKENS: usize = 256;

/// A model folder ready to decode; shared by the planners of all threads.
pub struct LocalModel {
    engine: Engine,
    chat: ChatFormat,
    vocab: Vocab,
    info: KgAgentInfo,
    name: String,
}

impl LocalModel {
    /// Loads a model folder, or a GGUF file, onto the CPU. Weights stay in the format in which they are stored.
    ///
    /// # Errors
    /// [`InferError`] names the file that is missing or wrong.
    pub fn open(path: &Path) -> Result<Self, InferError> {
        Self::open_on(Processor::Cpu, path)
    }

    /// The same where `processor` says.
    ///
    /// # Errors
    /// As [`open`](Self::open), and where there is no such processor, or this build does not compute on it.
    pub fn open_on(processor: Processor, path: &Path) -> Result<Self, InferError> {
        let (engine, tokenizer, info) = if path.is_file() {
            let model = GgufModel::open(path)?;
            (
                Engine::on(processor, model.config.clone(), &model)?,
                model.tokenizer,
                model.info,
            )
        } else {
            let folder = ModelFolder::open(path)?;
            (
                Engine::on(processor, folder.config.clone(), &folder.weights()?)?,
                folder.tokenizer,
                folder.info,
            )
        };
        let parsed: serde_json::Value =
            serde_json::from_slice(&tokenizer.to_bytes()?).map_err(|error| {
                model::ModelError::Json {
                    path: path.join("tokenizer.json"),
                    message: error.to_string(),
                }
            })?;
        let spelled = engine::vocab_bytes(&parsed);
        let chat = ChatFormat::new(tokenizer)?;
        let vocab = Vocab {
            trie: TokenTrie::new(spelled.tokens.into_iter()),
            end: chat.end_of_turn(),
            adds_space: spelled.adds_space,
        };
        Ok(Self {
            engine,
            chat,
            vocab,
            info,
            name: path.display().to_string(),
        })
    }

    /// The model itself.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Its chat format.
    #[must_use]
    pub fn chat(&self) -> &ChatFormat {
        &self.chat
    }

    /// What the model folder says about its training.
    #[must_use]
    pub fn info(&self) -> &KgAgentInfo {
        &self.info
    }

    /// How much doubt agents leave the model where nobody says: what its held-out examples showed, or [`DOUBT`].
    #[must_use]
    pub fn doubt(&self) -> f64 {
        self.info.doubt.unwrap_or(DOUBT)
    }

    /// The template that the model was trained on for an agent.
    ///
    /// # Errors
    /// When it was not trained for this agent, or this version renders otherwise than the model's training data was rendered.
    pub fn template(&self, agent: Agent) -> Result<Template, InferError> {
        let known = self
            .info
            .templates
            .get(agent.name())
            .and_then(|hash| Template::by_hash(hash));
        let template = known.unwrap_or_else(|| Template::of(agent));
        self.info
            .check_template(agent.name(), &template.hash(), &self.name)?;
        Ok(template)
    }
}

/// One question's (or one thread's) decoding state; the cache outlives a question, so a shared opening is read once.
pub struct LocalPlanner {
    model: Arc<LocalModel>,
    session: engine::Session,
    sampling: Sampling,
    /// What this question's last turn was written behind, and the turn; `None` before its first one.
    held: Option<Vec<u32>>,
    doubt: f64,
}

/// Doubt that agents leave a model of which nothing is known. Less costs models of little data right answers, more lets more through that the graph
/// does not have (docs/results.md, *What is not in the graph*).
const DOUBT: f64 = 0.995;

/// The call that says that the graph has no answer.
const NO_ANSWER: &[&str] = &["ans = end([])"];
/// Turns that say so, or that nothing of what is listed is meant: ODA's actions, and the selections of ODA and Triad.
const NOTHING: &[&str] = &["answer none", "none"];

impl LocalPlanner {
    /// A planner that decodes greedily.
    #[must_use]
    pub fn new(model: &Arc<LocalModel>) -> Self {
        Self {
            session: engine::Session::new(&model.engine),
            model: Arc::clone(model),
            sampling: Sampling::Greedy,
            held: None,
            doubt: 1.0,
        }
    }

    /// A planner that decodes greedily, together with the batch's other planners; `batch` must be one of this model's engine. Each belongs on
    /// a thread of its own.
    #[must_use]
    pub fn in_batch(model: &Arc<LocalModel>, batch: &Arc<Batch>) -> Self {
        Self {
            session: engine::Session::in_batch(batch),
            ..Self::new(model)
        }
    }

    /// Says that there is nothing where the model doubts more than this that what it must choose from has what it is after: where, unmasked, it would
    /// have gone on with something else by a probability above `doubt`, also where a single way was left and it was not asked. What it knows from
    /// training and the graph does not have is then not replaced by the next best; at 1 it always is.
    #[must_use]
    pub fn doubting(self, doubt: f64) -> Self {
        Self { doubt, ..self }
    }
}

impl LocalPlanner {
    /// Decodes one assistant turn behind `turns`, held to what the acceptor takes; in too much doubt, the first of `nothing` that it takes.
    fn decode<A: Acceptor>(
        &mut self,
        turns: &[Turn],
        acceptor: &A,
        nothing: &[&str],
    ) -> Result<Proposal, InferError> {
        let chat = &self.model.chat;
        let mut prompt = chat.encode(turns)?.ids;
        prompt.push(chat.open_turn(Role::Assistant));
        let limit = self.model.engine.config().context();
        if prompt.len() + TURN_TOKENS > limit {
            return Err(InferError::TooLong {
                needed: prompt.len() + TURN_TOKENS,
                limit,
            });
        }
        let encode = |text: &str| chat.tokenizer().encode(text).unwrap_or_default();
        let known = match &self.held {
            Some(held) => held.iter().zip(&prompt).take_while(|(a, b)| a == b).count(),
            None => {
                let opening = turns
                    .iter()
                    .take_while(|turn| turn.role == Role::System)
                    .count();
                chat.encode(&turns[..opening])?.ids.len()
            }
        };
        let read = prompt.len() - known;
        let written = engine::generate(
            &mut self.session,
            &prompt,
            acceptor,
            &encode,
            &self.model.vocab,
            Limits {
                max_new_tokens: TURN_TOKENS,
            },
            self.sampling,
        )?;
        let says_nothing = nothing.contains(&written.text.as_str());
        let doubts = !nothing.is_empty() && !says_nothing && self.doubts(&prompt, &written)?;
        prompt.extend(&written.ids);
        self.held = Some(prompt);
        // In so many digits that who reads a trace has the very number that was written.
        let logprob = (written.logprob * 1e6).round() / 1e6;
        let nothing = nothing.iter().find(|text| doubts && acceptor.accepts(text));
        let text = nothing.map_or(written.text, |text| (*text).to_owned());
        Ok(Proposal {
            text,
            read,
            decided: written.decided,
            forced: written.forced,
            logprob,
        })
    }

    /// The logarithm of the model's probability of a turn behind `turns`, nothing masked.
    fn logprob(&mut self, turns: &[Turn], text: &str) -> Result<f64, InferError> {
        let chat = &self.model.chat;
        let mut prompt = chat.encode(turns)?.ids;
        prompt.push(chat.open_turn(Role::Assistant));
        let ids = chat.tokenizer().encode(text)?;
        let given = self.session.probabilities(&prompt, &ids)?;
        let sum: f64 = given
            .iter()
            .map(|&probability| f64::from(probability.max(f32::MIN_POSITIVE)).ln())
            .sum();
        Ok((sum * 1e6).round() / 1e6)
    }

    /// Whether the model, unmasked, would have gone on otherwise somewhere in what was written behind `prompt`: where it chose, with something that was
    /// not to be had, and where nothing was left to choose, with anything else.
    fn doubts(&mut self, prompt: &[u32], written: &Generated) -> Result<bool, InferError> {
        if self.doubt >= 1.0 {
            return Ok(false);
        }
        let beyond = |mass: f32| 1.0 - f64::from(mass) > self.doubt;
        if written
            .decisions
            .iter()
            .any(|decision| beyond(decision.allowed_mass))
        {
            return Ok(true);
        }
        if written.forced == 0 {
            return Ok(false);
        }
        let chosen: BTreeSet<usize> = written
            .decisions
            .iter()
            .map(|decision| decision.at)
            .collect();
        let given = self.session.probabilities(prompt, &written.ids)?;
        Ok(given
            .iter()
            .enumerate()
            .any(|(at, &probability)| beyond(probability) && !chosen.contains(&at)))
    }
}

impl Planner for LocalPlanner {
    fn begin(&mut self) {
        self.held = None;
    }

    fn propose(&mut self, moment: &PlannerInput<'_, '_>) -> Result<Proposal, InferError> {
        self.decode(
            moment.turns,
            &CallAcceptor::new(moment.session.live(moment.template.naming)),
            NO_ANSWER,
        )
    }

    fn propose_except(
        &mut self,
        moment: &PlannerInput<'_, '_>,
        refused: &[String],
        choice: Option<usize>,
    ) -> Result<Option<Proposal>, InferError> {
        let acceptor = CallAcceptor::new(moment.session.live(moment.template.naming));
        let except = Except::new(&acceptor, refused);
        if except.is_empty() {
            return Ok(None);
        }
        // A second choice is by its nature not what the model would have written: doubt is for the first.
        let nothing = if choice.unwrap_or(0) == 0 {
            NO_ANSWER
        } else {
            &[]
        };
        let mut proposal = self.decode(moment.turns, &except, nothing)?;
        if choice.is_some() {
            // Under the constraint a call that is the only one left is certain, however unlikely.
            proposal.logprob = self.logprob(moment.turns, &proposal.text)?;
        }
        Ok(Some(proposal))
    }

    fn write(&mut self, turns: &[Turn], phrase: &Grammar) -> Result<Proposal, InferError> {
        // Free text could say the same words and mean them.
        let nothing = if matches!(phrase, Grammar::Free { .. }) {
            &[]
        } else {
            NOTHING
        };
        self.decode(turns, &GrammarAcceptor::new(phrase), nothing)
    }

    fn constrained(&self) -> bool {
        true
    }
}
