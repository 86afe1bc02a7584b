import * as v from 'valibot';
import { secret, wholeNumber } from './validators.ts';

/** The listener for operators. */
export type OperationsConfig = {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** `null` gives every user of this machine access, and is allowed on a loopback address only. */
  readonly token: string | null;
};

const MIN_TOKEN_LENGTH = 32;

const MAKE_TOKEN = `set ${MIN_TOKEN_LENGTH} characters or more, for example the output of \`openssl rand -base64 32\``;

const noPort = v.pipe(
  v.literal('off'),
  v.transform(() => null),
);

export const operationsVariables = {
  OPS_PORT: v.optional(
    v.union(
      [noPort, wholeNumber(3_001, 0, 65_535)],
      'must be off, or a whole number from 0 to 65535',
    ),
    '3001',
  ),
  OPS_HOST: v.optional(v.string(), '127.0.0.1'),
  OPS_TOKEN: v.optional(secret(new RegExp(`^[!-~]{${MIN_TOKEN_LENGTH},512}$`), MAKE_TOKEN)),
};

type OperationsVariables = v.InferOutput<v.ObjectSchema<typeof operationsVariables, undefined>>;

/** An address that other machines reach needs a token. */
export const protection = {
  /** The check runs together with all others, unless one of these variables is itself invalid. */
  concerns: [['OPS_PORT'], ['OPS_HOST'], ['OPS_TOKEN']],
  isGiven: ({ OPS_PORT, OPS_HOST, OPS_TOKEN }: OperationsVariables) =>
    OPS_PORT === null || OPS_TOKEN !== undefined || isLoopback(OPS_HOST),
  problem: `is not a loopback address, so OPS_TOKEN is required: ${MAKE_TOKEN}`,
  problemOf: ['OPS_HOST'],
} as const;

export function toOperationsConfig(value: OperationsVariables): OperationsConfig | null {
  const { OPS_PORT: port, OPS_HOST: host, OPS_TOKEN: token = null } = value;
  return port === null ? null : { host, port, token };
}

/** Whether only this machine can reach the address. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
