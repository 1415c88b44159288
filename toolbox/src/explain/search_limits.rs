//! Sizes of the search for candidate programs.

/// Sizes of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchLimits {
    /// Maximum steps of a plan.
    pub steps: usize,
    /// Plans that are continued after each step.
    pub beam: usize,
    /// Members of the largest set that is followed.
    pub set: usize,
    /// Instances of the largest class that is a start.
    pub class: usize,
    /// Relations followed, without those to statement nodes.
    pub hops: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self {
            steps: 5,
            beam: 60,
            set: 2_000,
            class: 20_000,
            hops: 3,
        }
    }
}
