//! How much of the server one client may use at the same time. A client is an address; all
//! addresses of an IPv6 network of one household (/64) are one client.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fault::Fault;

/// What one client may have at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// Open connections.
    pub connections: usize,
    /// Questions and queries that wait or are being answered.
    pub questions: usize,
}

impl Default for ClientLimits {
    /// A browser opens up to six connections for each tab; an assistant asks a few questions at once.
    fn default() -> Self {
        Self {
            connections: 128,
            questions: 32,
        }
    }
}

/// What the clients use now.
pub(crate) struct Clients {
    limits: ClientLimits,
    used: Mutex<HashMap<IpAddr, ClientLimits>>,
}

impl Clients {
    pub(crate) fn new(limits: ClientLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            used: Mutex::default(),
        })
    }

    fn used(&self) -> MutexGuard<'_, HashMap<IpAddr, ClientLimits>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client at this address.
    pub(crate) fn client(self: &Arc<Self>, address: IpAddr) -> Client {
        let address = match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) >> 64 << 64;
                IpAddr::V6(Ipv6Addr::from(network))
            }
            v4 @ IpAddr::V4(_) => v4,
        };
        Client {
            clients: Arc::clone(self),
            address,
        }
    }
}

/// What of a client's share is taken.
#[derive(Clone, Copy)]
enum Share {
    Connection,
    Question,
}

impl Share {
    fn of(self, limits: &mut ClientLimits) -> &mut usize {
        match self {
            Self::Connection => &mut limits.connections,
            Self::Question => &mut limits.questions,
        }
    }
}

/// One client.
#[derive(Clone)]
pub(crate) struct Client {
    clients: Arc<Clients>,
    address: IpAddr,
}

impl Client {
    /// A place for one more connection; `None` if the client has too many.
    pub(crate) fn connection(&self) -> Option<ClientPlace> {
        self.take(Share::Connection)
    }

    /// A place for one more question or query.
    ///
    /// # Errors
    /// [`Fault`] if the client has too many already.
    pub(crate) fn question(&self) -> Result<ClientPlace, Fault> {
        self.take(Share::Question).ok_or_else(|| {
            let message = format!(
                "{} questions from this address are being answered; ask again in a few seconds",
                self.clients.limits.questions
            );
            Fault {
                again: true,
                ..Fault::new(429, "too_many", message)
            }
        })
    }

    fn take(&self, share: Share) -> Option<ClientPlace> {
        let mut limits = self.clients.limits;
        let mut all = self.clients.used();
        let none = ClientLimits {
            connections: 0,
            questions: 0,
        };
        let used = share.of(all.entry(self.address).or_insert(none));
        (*used < *share.of(&mut limits)).then(|| {
            *used += 1;
            ClientPlace {
                client: self.clone(),
                share,
            }
        })
    }
}

/// A part of a client's share, given back when this is dropped.
pub(crate) struct ClientPlace {
    client: Client,
    share: Share,
}

impl Drop for ClientPlace {
    fn drop(&mut self) {
        let mut all = self.client.clients.used();
        if let Some(used) = all.get_mut(&self.client.address) {
            *self.share.of(used) -= 1;
            if used.connections == 0 && used.questions == 0 {
                all.remove(&self.client.address);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_its_share_and_others_have_theirs() {
        let clients = Clients::new(ClientLimits {
            connections: 2,
            questions: 1,
        });
        let client = |address: &str| clients.client(address.parse().unwrap());
        let one = client("10.0.0.1");
        let first = one.connection().unwrap();
        let second = one.connection();
        assert!(second.is_some() && one.connection().is_none());
        // The same machine by another way of writing its address.
        assert!(client("::ffff:10.0.0.1").connection().is_none());
        assert!(client("10.0.0.2").connection().is_some());
        drop(first);
        assert!(one.connection().is_some());
        let asked = one.question().unwrap();
        assert_eq!(one.question().err().unwrap().status, 429);
        drop((asked, second));
        assert!(one.question().is_ok());
        let network = client("2001:db8::1").question();
        assert!(network.is_ok() && client("2001:db8::2").question().is_err());
        assert!(client("2001:db8:0:1::2").question().is_ok());
        drop(network);
        assert!(clients.used().is_empty(), "clients that left are forgotten");
    }
}
