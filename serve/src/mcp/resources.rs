//! What an assistant may read: the numbers and the schema of a graph, and the trace of an answer.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Begun, INTERNAL, McpError, PARAMETERS, text};
use crate::explain;
use crate::fault::Fault;
use crate::queue::{Asker, queued};
use crate::service::Service;
use crate::view;

/// Relations and classes of a schema; more are read by SPARQL.
const SHOWN: usize = 500;

/// The resources of every graph.
pub(super) fn list(service: &Service) -> Value {
    let served = service.served();
    let resources = served.graphs.iter().flat_map(|graph| {
        let name = &graph.name;
        let one = |what: &str, about: &str| {
            json!({
                "uri": format!("kgagent://graphs/{name}/{what}"), "name": format!("{name} {what}"),
                "description": about, "mimeType": "application/json",
            })
        };
        [
            one("statistics", "How much the graph holds."),
            one(
                "schema",
                "Its relations and classes with their numbers, most used first.",
            ),
        ]
    });
    json!({ "resources": resources.collect::<Vec<_>>() })
}

/// The resources that have an id.
pub(super) fn templates() -> Value {
    json!({ "resourceTemplates": [{
        "uriTemplate": "kgagent://answers/{id}", "name": "answer", "mimeType": "application/json",
        "description": "An answer of `ask` with its trace, its query and the steps that use each triple.",
    }] })
}

/// Begins to read a resource.
pub(super) fn read(service: &Arc<Service>, params: &Value, asker: Asker) -> Begun {
    let uri = params["uri"].as_str().unwrap_or_default().to_owned();
    let begun = queued(service, asker, move |service, cancel| {
        cancel?;
        let mut value = resource(service, &uri)?;
        text::tidy(&mut value);
        Ok(json!({ "contents": [{
            "uri": uri, "mimeType": "application/json", "text": text::written(&value),
        }] }))
    });
    match begun {
        Ok(pending) => Begun::Working(pending, |read| read.map_err(|fault| failed(&fault))),
        Err(fault) => Begun::Done(Err(failed(&fault))),
    }
}

fn failed(fault: &Fault) -> McpError {
    let code = if fault.status < 500 {
        PARAMETERS
    } else {
        INTERNAL
    };
    McpError::new(code, format!("{}: {}", fault.code, fault.message))
}

fn resource(service: &Service, uri: &str) -> Result<Value, Fault> {
    let unknown = || {
        let message = format!("there is no resource `{uri}`; `resources/list` names them");
        Fault::unknown("unknown_resource", message)
    };
    let path = uri.strip_prefix("kgagent://").ok_or_else(unknown)?;
    match path.split('/').collect::<Vec<_>>()[..] {
        ["graphs", name, "statistics"] => {
            Ok(view::statistics(name, &service.graph(Some(name))?.kg))
        }
        ["graphs", name, "schema"] => Ok(view::schema(&service.graph(Some(name))?.kg, 0, SHOWN)),
        ["answers", id] => {
            let stored = service.answer(id)?;
            explain::whole(service, &stored)
        }
        _ => Err(unknown()),
    }
}
