// The settings of the operators' listener and of alerts, for config.ts.

import type { AlertConfig, NamedToken } from 'instep-operate';
import { ROLES } from 'instep-operate/feature';
import * as v from 'valibot';
import { type Environment, part, secret, url, wholeNumber, withRemedy } from './environment.ts';

/** The listener for operators. */
export type OperationsConfig = {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** None gives every user of this machine access, and is allowed on a loopback address only. */
  readonly tokens: readonly NamedToken[];
};

const SHARED_NAME = 'OPS_TOKEN';

const MAKE_TOKEN = 'set 32 characters or more, for example the output of `openssl rand -base64 32`';

const NAMED_TOKEN =
  `write name:role:token for each person, with commas or lines between them: the role is ${ROLES.join(' or ')}, ` +
  'and a token has 32 characters or more';

/** `OPS_TOKEN`: the token of all operators. */
const opsToken = secret(/^[!-~]{32,512}$/, MAKE_TOKEN);

/** The listener; `null`: it is off. */
export const operationsPart = ({ OPS_PORT, OPS_TOKEN, OPS_TOKENS }: Environment) =>
  part(
    {
      OPS_PORT: v.optional(
        v.union(
          [v.literal('off'), wholeNumber(3_001, 0, 65_535)],
          'must be off, or a whole number from 0 to 65535',
        ),
        '3001',
      ),
      OPS_HOST: v.pipe(
        v.optional(v.string(), '127.0.0.1'),
        // An address that other machines reach needs a token.
        v.check(
          (host) =>
            isLoopback(host) || OPS_PORT === 'off' || (OPS_TOKEN ?? OPS_TOKENS) !== undefined,
          withRemedy('is not a loopback address, so OPS_TOKEN is required', MAKE_TOKEN),
        ),
      ),
      OPS_TOKEN: v.optional(opsToken),
      OPS_TOKENS: v.optional(opsTokens),
    },
    ({ OPS_PORT: port, OPS_HOST: host, OPS_TOKEN: token, OPS_TOKENS: named = [] }) => {
      if (port === 'off') return null;
      const shared = { name: SHARED_NAME, role: 'operator' } as const;
      // The first one with a text counts, so that a viewer stays one, even with a token that is also `OPS_TOKEN`.
      const tokens = token === undefined ? named : [...named, { ...shared, token }];
      return { host, port, tokens } satisfies OperationsConfig;
    },
  );

/** `OPS_TOKENS`: a token for each person. No part of it is quoted, since any part can be a token. */
const opsTokens = v.pipe(
  v.string(),
  v.rawTransform<string, readonly NamedToken[]>(({ dataset: { value: text }, addIssue, NEVER }) => {
    const tokens: NamedToken[] = [];
    for (const entry of text.trim().split(/[\s,]+/)) {
      const [, name = '', roleName, token = ''] = /^([\w-]{1,40}):(\w+):(.+)$/.exec(entry) ?? [];
      const role = ROLES.find((one) => one === roleName);
      const isTaken = (one: NamedToken) => one.name === name || one.token === token;
      if (
        role !== undefined &&
        v.is(opsToken, token) &&
        name !== SHARED_NAME &&
        !tokens.some(isTaken)
      ) {
        tokens.push({ name, role, token });
        continue;
      }
      const problem = `has an entry ${tokens.length + 1} that is malformed, or whose name or token is taken`;
      addIssue({ message: withRemedy(problem, NAMED_TOKEN) });
      return NEVER;
    }
    return tokens;
  }),
);

/** `null`: alerts are off. */
export const alertsPart = part(
  {
    ALERT_WEBHOOK_URL: v.optional(
      url(isHttps, 'must be an https:// URL, or an http:// URL of this machine'),
    ),
    CONSOLE_URL: v.optional(
      url(isWeb, 'must be a URL such as https://app.example.com/admin/billing'),
    ),
  },
  ({ ALERT_WEBHOOK_URL: url, CONSOLE_URL: consoleUrl = null }): AlertConfig | null =>
    url === undefined ? null : { url, consoleUrl },
);

export function isWeb({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'http:';
}

function isHttps({ protocol, hostname }: URL): boolean {
  const isOwn = isLoopback(hostname) || hostname === '[::1]';
  return protocol === 'https:' || (protocol === 'http:' && isOwn);
}

/** Whether only this machine can reach the address. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
