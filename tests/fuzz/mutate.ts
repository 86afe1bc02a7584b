import type { Random } from '../../simulation/random.ts';

/** Long enough to distinguish quadratic time from linear time. */
const MAX_LENGTH = 65_536;

/** The pieces of many kinds of text: strings, numbers and words. */
const PIECE = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|\w+/gs;

type Material = {
  /** Other inputs, from which parts are taken. */
  readonly corpus: readonly string[];
  /** Words with a meaning for the parser. */
  readonly dictionary: readonly string[];
};

type Mutation = (input: string, random: Random, material: Material) => string;

/** A byte, as a character from 0 to 255. */
const byte = (random: Random) => String.fromCharCode(random.below(256));

/** A part of the input, usually a short one. */
function part(input: string, random: Random): { from: number; until: number } {
  const from = random.below(input.length + 1);
  const longest = 1 + random.below(random.chance(0.8) ? 8 : input.length + 1);
  return { from, until: Math.min(input.length, from + longest) };
}

function replace(input: string, from: number, until: number, text: string): string {
  return input.slice(0, from) + text + input.slice(until);
}

const deletePart: Mutation = (input, random) => {
  const { from, until } = part(input, random);
  return replace(input, from, until, '');
};

const repeatPart: Mutation = (input, random) => {
  const { from, until } = part(input, random);
  const times = 2 + (random.chance(0.98) ? random.below(4) : 2 ** random.below(17));
  const atMost = Math.ceil(MAX_LENGTH / Math.max(1, until - from));
  return replace(input, from, until, input.slice(from, until).repeat(Math.min(times, atMost)));
};

const setByte: Mutation = (input, random) => {
  const at = random.below(input.length + 1);
  return replace(input, at, at + 1, byte(random));
};

const flipBit: Mutation = (input, random) => {
  const at = random.below(input.length + 1);
  const flipped = (input.charCodeAt(at) || 0) ^ (1 << random.below(8));
  return replace(input, at, at + 1, String.fromCharCode(flipped));
};

const insertWord: Mutation = (input, random, { dictionary }) => {
  const at = random.below(input.length + 1);
  return replace(input, at, at, random.pick(dictionary));
};

/** Replaces a piece with a word of the dictionary, or with another piece of the same input. */
const replacePiece: Mutation = (input, random, { dictionary }) => {
  const pieces = [...input.matchAll(PIECE)];
  if (pieces.length === 0) return random.pick(dictionary);
  const { 0: old, index } = random.pick(pieces);
  const [other] = random.pick(pieces);
  return replace(
    input,
    index,
    index + old.length,
    random.chance(0.7) ? random.pick(dictionary) : other,
  );
};

const splice: Mutation = (input, random, { corpus }) => {
  const other = random.pick(corpus);
  const from = part(other, random);
  const into = part(input, random);
  return replace(input, into.from, into.until, other.slice(from.from, from.until));
};

const cross: Mutation = (input, random, { corpus }) => {
  const other = random.pick(corpus);
  return (
    input.slice(0, random.below(input.length + 1)) + other.slice(random.below(other.length + 1))
  );
};

const MUTATIONS: readonly Mutation[] = [
  ...[deletePart, repeatPart, setByte, flipBit, insertWord],
  ...[replacePiece, replacePiece, splice, cross],
];

/** The input with one or a few changes, usually one. */
export function mutate(input: string, random: Random, material: Material): string {
  let mutated = input;
  do {
    mutated = random.pick(MUTATIONS)(mutated, random, material).slice(0, MAX_LENGTH);
  } while (random.chance(0.4));
  return mutated;
}
