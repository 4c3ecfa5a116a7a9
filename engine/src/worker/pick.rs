//! Which file of a set an operation takes next, where it is drawn.

use crate::error::Result;
use crate::load::ranks::Ranks;
use crate::load::sizes::Sampler;
use crate::plan::Pick;

/// Draws a file's place among those that there are.
#[derive(Debug)]
pub(super) enum Picker {
    /// All alike.
    Even,
    /// Some likelier than others.
    Ranked(Box<Ranks>),
    /// By a number, modulo the files.
    Indexed(Sampler),
}

impl Picker {
    /// `seed` decides which files are the likely ones where they are scattered; the same for all workers.
    pub(super) fn new(pick: &Pick, seed: u64) -> Result<Self> {
        Ok(match pick {
            Pick::Random { distribution } => match Ranks::new(distribution, seed)? {
                even if even.is_uniform() => Self::Even,
                ranks => Self::Ranked(Box::new(ranks)),
            },
            Pick::Indexed { value } => Self::Indexed(Sampler::new(value)?),
            _ => Self::Even,
        })
    }

    /// A place below `files`, which is above 0.
    #[inline]
    pub(super) fn draw(&mut self, files: u64, rng: &mut fastrand::Rng) -> u64 {
        match self {
            Self::Even => rng.u64(..files),
            Self::Ranked(ranks) => ranks.draw(files, rng),
            Self::Indexed(sampler) => sampler.sample_u64(rng) % files,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Distribution;

    fn counts(pick: &Pick) -> [u32; 4] {
        let (mut picker, mut rng) = (Picker::new(pick, 1).unwrap(), fastrand::Rng::with_seed(4));
        let mut counts = [0; 4];
        (0..10_000).for_each(|_| counts[picker.draw(4, &mut rng) as usize] += 1);
        counts
    }

    #[test]
    fn an_index_is_taken_modulo_the_files() {
        let pick = Pick::Indexed { value: Distribution::Fixed { value: 7.0 } };

        assert_eq!(counts(&pick), [0, 0, 0, 10_000]);
    }

    #[test]
    fn files_are_picked_by_their_rank() {
        let pick = Pick::Random { distribution: Distribution::Zipf { theta: 1.0, scramble: false } };

        // Shares 12 : 6 : 4 : 3 of 25; four deviations are at most 200.
        for (seen, wanted) in counts(&pick).into_iter().zip([4800, 2400, 1600, 1200_i32]) {
            assert!((seen as i32 - wanted).abs() < 200, "{seen} {wanted}");
        }
    }
}
