import * as v from 'valibot';
import { secret, wholeNumber } from './validators.ts';

/** Where operators look, and who may. */
export type OperationsConfig = {
  readonly host: string;
  /** 0 takes one that is free. */
  readonly port: number;
  /** Whoever knows this token; or, on a loopback address alone, whoever is on this machine. */
  readonly token: string | null;
};

const MIN_TOKEN_LENGTH = 32;

const HOW_TO_MAKE_ONE = `set ${MIN_TOKEN_LENGTH} characters or more, such as from \`openssl rand -base64 32\``;

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
  OPS_TOKEN: v.optional(secret(new RegExp(`^[!-~]{${MIN_TOKEN_LENGTH},512}$`), HOW_TO_MAKE_ONE)),
};

type OperationsVariables = v.InferOutput<v.ObjectSchema<typeof operationsVariables, undefined>>;

/** Whoever reaches an address that others reach, too, has to say who they are. */
export const protection = {
  /** Asked beside all other problems, unless these are among them. */
  concerns: [['OPS_PORT'], ['OPS_HOST'], ['OPS_TOKEN']],
  isGiven: ({ OPS_PORT, OPS_HOST, OPS_TOKEN }: OperationsVariables) =>
    OPS_PORT === null || OPS_TOKEN !== undefined || isLoopback(OPS_HOST),
  problem: `is no loopback address, which needs OPS_TOKEN: ${HOW_TO_MAKE_ONE}`,
  problemOf: ['OPS_HOST'],
} as const;

/** `null`: nobody looks. */
export function toOperationsConfig(value: OperationsVariables): OperationsConfig | null {
  const { OPS_PORT: port, OPS_HOST: host, OPS_TOKEN: token = null } = value;
  return port === null ? null : { host, port, token };
}

/** Whether only this machine can reach this address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
