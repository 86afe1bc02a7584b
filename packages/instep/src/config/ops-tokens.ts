// The tokens of operators: OPS_TOKEN and OPS_TOKENS, for config.ts.

import { readFileSync } from 'node:fs';
import { codeOf } from 'instep-engine/runtime';
import type { NamedToken } from 'instep-operate';
import { ROLES } from 'instep-operate/feature';
import * as v from 'valibot';
import { secret, withRemedy } from './environment.ts';

const MIN_TOKEN_LENGTH = 32;

export const MAKE_TOKEN = `set ${MIN_TOKEN_LENGTH} characters or more, for example the output of \`openssl rand -base64 32\``;

/** `OPS_TOKEN`: the token of all operators. */
export const opsToken = v.optional(
  secret(new RegExp(`^[!-~]{${MIN_TOKEN_LENGTH},512}$`), MAKE_TOKEN),
);

const SHARED_NAME = 'OPS_TOKEN';

const REMEDY = 'write name:role:token for each person, with commas or lines between them';

/** `OPS_TOKENS`: a token for each person, or the absolute path of a file with them. */
export const opsTokens = v.optional(
  v.pipe(
    v.string(),
    v.rawTransform<string, readonly NamedToken[]>(({ dataset, addIssue, NEVER }) => {
      const tokens = parseTokens(dataset.value.trim());
      if (typeof tokens !== 'string') return tokens;
      addIssue({ message: withRemedy(tokens, REMEDY) });
      return NEVER;
    }),
  ),
);

/** The tokens, or what is wrong with the text. No part of an entry is quoted, since any part can be a token. */
function parseTokens(text: string): readonly NamedToken[] | string {
  if (!text.startsWith('/')) return parseEntries(text);
  try {
    return parseEntries(readFileSync(text, 'utf8').trim());
  } catch (error) {
    // A message would quote the path, which can be a token that begins with a slash.
    return `names a file that can't be read (${codeOf(error)})`;
  }
}

function parseEntries(text: string): readonly NamedToken[] | string {
  if (text === '') return 'is empty';
  const tokens: NamedToken[] = [];
  for (const entry of text.split(/[\s,]+/)) {
    const position = `entry ${tokens.length + 1}`;
    const [, name = '', roleText, token = ''] = /^([^:]*):([^:]*):(.*)$/.exec(entry) ?? [];
    const role = ROLES.find((one) => one === roleText);
    if (roleText === undefined) return `has a malformed ${position}`;
    if (!/^[\w-]{1,40}$/.test(name)) {
      return `has a name in ${position} that is not 1 to 40 letters, digits, "-" or "_"`;
    }
    if (role === undefined) return `has a role in ${position} that is not ${ROLES.join(' or ')}`;
    if (!v.is(opsToken, token)) {
      return `has a token in ${position} that is a placeholder or shorter than ${MIN_TOKEN_LENGTH} characters`;
    }
    const isTaken = (one: NamedToken) => one.name === name || one.token === token;
    if (name === SHARED_NAME || tokens.some(isTaken)) {
      return `has a name or a token in ${position} that is taken`;
    }
    tokens.push({ name, role, token });
  }
  return tokens;
}

/**
 * All tokens; none gives every user of this machine access. The first one with a text counts, so that a
 * viewer stays one, even with a token that is also `OPS_TOKEN`.
 */
export function toTokens(
  shared: string | undefined,
  named: readonly NamedToken[] = [],
): readonly NamedToken[] {
  const holder = { name: SHARED_NAME, role: 'operator' } as const;
  return shared === undefined ? named : [...named, { ...holder, token: shared }];
}
