//! Lanes of a warp that wait for each other.
//!
//! In: the threads of a block, all of which wait or have ended. Out: whether some lanes went on. Lanes at one op go
//! on together as soon as every lane that their masks name is there or has ended. Where no such group is left but lanes
//! still wait, their masks name lanes that went elsewhere: those furthest behind in the program go on without them.

use crate::block::{Member, State};
use crate::code::{Code, Sync, SyncKind};
use ir::{ShuffleMode, VoteMode};

const LANES: usize = 32;

/// Lets lanes go on behind the warp ops at which they wait.
pub(crate) fn go_on(members: &mut [Member], codes: &[Code], kernel: &Code) -> bool {
    // No short circuit: every warp goes on as far as it can.
    members.chunks_mut(LANES).fold(false, |any, warp| any | warp_goes_on(warp, codes, kernel))
}

fn warp_goes_on(warp: &mut [Member], codes: &[Code], kernel: &Code) -> bool {
    let mut groups: Vec<(Vec<usize>, u32)> = Vec::new();
    for (lane, member) in warp.iter().enumerate() {
        if member.state != State::Waiting || !is_of_warp(member.sync(codes, kernel).kind) {
            continue;
        }
        let place = member.place();
        match groups.iter_mut().find(|(known, _)| *known == place) {
            Some((_, lanes)) => *lanes |= 1 << lane,
            None => groups.push((place, 1 << lane)),
        }
    }
    groups.sort();
    let is_there = |member: &Member| !matches!(member.state, State::Ended { .. });
    let alive = lanes_where(warp, is_there);
    let mut is_complete = Vec::new();
    for &(_, lanes) in &groups {
        let named = (0..warp.len()).filter(|lane| lanes >> lane & 1 == 1).fold(0, |named, lane| {
            let sync = warp[lane].sync(codes, kernel);
            named | mask(&mut warp[lane], sync)
        });
        is_complete.push(named & alive & !lanes == 0);
    }
    if !is_complete.contains(&true)
        && let Some(first) = is_complete.first_mut()
    {
        *first = true;
    }
    for ((_, lanes), _) in groups.iter().zip(&is_complete).filter(|(_, is_complete)| **is_complete) {
        group_goes_on(warp, *lanes, codes, kernel);
    }
    !groups.is_empty()
}

fn is_of_warp(kind: SyncKind) -> bool {
    !matches!(kind, SyncKind::Barrier | SyncKind::Count | SyncKind::And | SyncKind::Or | SyncKind::Grid)
}

fn lanes_where(warp: &[Member], test: impl Fn(&Member) -> bool) -> u32 {
    warp.iter().enumerate().fold(0, |lanes, (lane, member)| lanes | u32::from(test(member)) << lane)
}

/// The lanes with which one wants to communicate.
fn mask(member: &mut Member, sync: &Sync) -> u32 {
    sync.operands.first().map_or(u32::MAX, |&slot| member.frame()[slot as usize] as u32)
}

/// The lanes are all at one op.
fn group_goes_on(warp: &mut [Member], lanes: u32, codes: &[Code], kernel: &Code) {
    let Some(sync) = warp.get(lanes.trailing_zeros() as usize).map(|member| member.sync(codes, kernel)) else { return };
    let operand =
        |member: &mut Member, index: usize| sync.operands.get(index).map_or(0, |&slot| member.frame()[slot as usize]);
    // The second operand of all lanes: the value exchanged, or the bool voted with.
    let values: Vec<u64> = warp.iter_mut().map(|member| operand(member, 1)).collect();
    for lane in (0..warp.len()).filter(|lane| lanes >> lane & 1 == 1) {
        let with = lanes & mask(&mut warp[lane], sync);
        let holds = |test: &dyn Fn(u64) -> bool| {
            (0..values.len())
                .filter(|&other| with >> other & 1 == 1 && test(values[other]))
                .fold(0u32, |all, other| all | 1 << other)
        };
        let own = values[lane];
        let results = match sync.kind {
            SyncKind::Shuffle(mode) => {
                let (n, width) = (operand(&mut warp[lane], 2) as u32 % 32, operand(&mut warp[lane], 3) as u32);
                match source(mode, lane as u32, n, width.clamp(1, 32)) {
                    Some(other) if with >> other & 1 == 1 => vec![values[other as usize], 1],
                    Some(_) => vec![own, 1],
                    None => vec![own, 0],
                }
            }
            SyncKind::Vote(VoteMode::All) => vec![u64::from(holds(&|p| p != 0) == with)],
            SyncKind::Vote(VoteMode::Any) => vec![u64::from(holds(&|p| p != 0) != 0)],
            SyncKind::Vote(VoteMode::Uniform) => {
                let yes = holds(&|p| p != 0);
                vec![u64::from(yes == 0 || yes == with)]
            }
            SyncKind::Vote(VoteMode::Ballot) => vec![u64::from(holds(&|p| p != 0))],
            SyncKind::MatchAny => vec![u64::from(holds(&|x| x == own))],
            SyncKind::MatchAll => {
                let first = values.get(with.trailing_zeros() as usize).copied().unwrap_or(own);
                let is_same = holds(&|x| x == first) == with;
                vec![if is_same { u64::from(with) } else { 0 }, u64::from(is_same)]
            }
            SyncKind::Active => vec![u64::from(lanes)],
            _ => Vec::new(),
        };
        warp[lane].go_on(sync, &results);
        if let (SyncKind::Warp, Some(seat)) = (sync.kind, &mut warp[lane].thread.seat) {
            seat.phases[1] += 1;
        }
    }
}

/// The lane that a shuffle reads from, where there is one.
fn source(mode: ShuffleMode, lane: u32, n: u32, width: u32) -> Option<u32> {
    let start = lane - lane % width;
    match mode {
        ShuffleMode::Index => Some(start + n % width),
        ShuffleMode::Up => lane.checked_sub(n).filter(|&other| other >= start),
        ShuffleMode::Down => Some(lane + n).filter(|&other| other < start + width),
        ShuffleMode::Xor => Some(lane ^ n).filter(|&other| other < start + width),
    }
}
