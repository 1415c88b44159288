//! How much of the server one client may use. A client is an address; all addresses of an IPv6
//! network of one household (/64) are one client.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::fault::Fault;

/// The time for which verdicts are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// What one client may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// Open connections at the same time.
    pub connections: usize,
    /// Questions and queries that wait or are being answered at the same time.
    pub questions: usize,
    /// Verdicts about answers in a minute.
    pub verdicts: usize,
}

impl Default for ClientLimits {
    /// A browser opens up to six connections for each tab; an assistant asks a few questions at once.
    /// Nobody reads thirty answers in a minute.
    fn default() -> Self {
        Self {
            connections: 128,
            questions: 32,
            verdicts: 30,
        }
    }
}

/// What the clients use now.
pub(crate) struct Clients {
    limits: ClientLimits,
    /// Open connections and questions.
    used: Mutex<HashMap<IpAddr, [usize; 2]>>,
    verdicts: Mutex<Verdicts>,
}

/// The verdicts of the current minute.
struct Verdicts {
    begun: Instant,
    given: HashMap<IpAddr, usize>,
}

impl Clients {
    pub(crate) fn new(limits: ClientLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            used: Mutex::default(),
            verdicts: Mutex::new(Verdicts {
                begun: Instant::now(),
                given: HashMap::new(),
            }),
        })
    }

    fn used(&self) -> MutexGuard<'_, HashMap<IpAddr, [usize; 2]>> {
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

    /// Counts a verdict.
    ///
    /// # Errors
    /// [`Fault`] if the client has given too many in this minute.
    pub(crate) fn verdict(&self) -> Result<(), Fault> {
        let most = self.clients.limits.verdicts;
        let verdicts = self.clients.verdicts.lock();
        let mut verdicts = verdicts.unwrap_or_else(PoisonError::into_inner);
        if verdicts.begun.elapsed() >= MINUTE {
            verdicts.begun = Instant::now();
            verdicts.given.clear();
        }
        let given = verdicts.given.entry(self.address).or_default();
        if *given >= most {
            let message = format!("at most {most} verdicts in a minute; say it again in a minute");
            return Err(Fault::new(429, "too_many", message));
        }
        *given += 1;
        Ok(())
    }

    fn take(&self, share: Share) -> Option<ClientPlace> {
        let limits = &self.clients.limits;
        let most = [limits.connections, limits.questions][share as usize];
        let mut all = self.clients.used();
        let used = &mut all.entry(self.address).or_default()[share as usize];
        (*used < most).then(|| {
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
            used[self.share as usize] -= 1;
            if *used == [0, 0] {
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
            verdicts: 3,
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
        let said: Vec<bool> = (0..5).map(|_| one.verdict().is_ok()).collect();
        assert_eq!(said, [true, true, true, false, false]);
        assert!(client("10.0.0.2").verdict().is_ok());
        // The next minute.
        let ago = Instant::now().checked_sub(MINUTE).unwrap();
        clients.verdicts.lock().unwrap().begun = ago;
        assert!(one.verdict().is_ok());
    }
}
