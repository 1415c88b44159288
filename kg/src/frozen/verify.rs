//! The complete check of a frozen graph: hashes and consistency.

use sha2::{Digest, Sha256};

use super::image::{Damage, damaged};
use super::kg::FrozenKg;
use super::layout::Section;

impl FrozenKg {
    /// Checks the hash of every section, the order of terms and triples, that all ids exist, that
    /// the three orders contain the same triples, and the content hash. Reads the whole graph.
    ///
    /// # Errors
    /// [`Damage`] if a check fails.
    pub fn verify(&self) -> Result<(), Damage> {
        let image = &self.image;
        image.verify()?;
        let mut hasher = Sha256::new();
        let dictionary = image.dictionary();
        let mut keys = dictionary.keys();
        let mut last: Option<Vec<u8>> = None;
        let mut terms = 0;
        while let Some((_, key)) = keys.next() {
            if last.as_deref().is_some_and(|last| last >= key) {
                return Err(damaged("dictionary (its terms are out of order)"));
            }
            hasher.update((key.len() as u64).to_le_bytes());
            hasher.update(key);
            let kept = last.get_or_insert_default();
            kept.clear();
            kept.extend_from_slice(key);
            terms += 1;
        }
        if terms != dictionary.len() {
            return Err(damaged("dictionary (terms are missing)"));
        }
        let mut last = None;
        let mut rows = 0;
        let mut sum = 0_u64;
        for row in image.triples() {
            if row.iter().any(|&id| id as usize >= terms) || last.is_some_and(|last| last >= row) {
                return Err(damaged("triples (they are out of order)"));
            }
            hasher.update(bytemuck::bytes_of(&row));
            last = Some(row);
            rows += 1;
            sum = sum.wrapping_add(mix(row));
        }
        if rows as u64 != image.header.triples {
            return Err(damaged("triples (some are missing)"));
        }
        if hasher.finalize()[..] != image.header.content_hash {
            return Err(damaged("content hash"));
        }
        let by_relation = image.ids(Section::Relations).iter().flat_map(|&p| {
            let [objects, subjects] = image.pairs(p);
            objects.iter().zip(subjects).map(move |(&o, &s)| [s, p, o])
        });
        let by_object = (0..image.header.terms).flat_map(|o| {
            let [relations, subjects] = image.in_edges(o);
            relations
                .iter()
                .zip(subjects)
                .map(move |(&p, &s)| [s, p, o])
        });
        if by_relation.fold(0_u64, |sum, row| sum.wrapping_add(mix(row))) != sum {
            return Err(damaged("order of triples by relation"));
        }
        if by_object.fold(0_u64, |sum, row| sum.wrapping_add(mix(row))) != sum {
            return Err(damaged("order of triples by object"));
        }
        Ok(())
    }
}

/// A hash of a triple. The sums of two sets of triples differ if the sets differ by damage.
fn mix([s, p, o]: [u32; 3]) -> u64 {
    let mut x =
        (u64::from(s) << 32 | u64::from(p)) ^ u64::from(o).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
