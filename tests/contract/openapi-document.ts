import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly format?: string;
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
};

type DescribedResponse = {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
};

type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, DescribedResponse>>;
  };
};

type Operation = { readonly responses: Readonly<Record<string, DescribedResponse>> };

const document: Document = parse(
  readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8'),
);

/** The described operations, such as `GET /api/user`. */
export const operations = new Map<string, Operation>(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  ),
);

function resolve<Item extends { readonly $ref?: string }>(
  item: Item,
  components: Readonly<Record<string, Item>>,
): Item {
  const name = item.$ref?.split('/').at(-1);
  return name === undefined ? item : (components[name] ?? item);
}

/** Says which part of a response openapi.yaml does not describe; `null` when it describes all of it. */
export async function undescribed(name: string, response: Response): Promise<string | null> {
  const responses = operations.get(name)?.responses ?? {};
  const described = responses[response.status] ?? responses.default;
  if (described === undefined) return `${name} has no status ${response.status}`;
  const mediaType = response.headers.get('content-type') ?? '';
  const schema = resolve(described, document.components.responses).content?.[mediaType]?.schema;
  if (schema === undefined) return `${name} has no content type ${mediaType}`;
  const isJson = mediaType === 'application/json';
  const body: unknown = isJson ? await response.json() : await response.text();
  return fits(body, schema) ? null : `${name} has no body ${JSON.stringify(body)}`;
}

/** Supports only the keywords that openapi.yaml uses, and allows no additional properties. */
function fits(value: unknown, reference: Schema): boolean {
  const schema = resolve(reference, document.components.schemas);
  if (schema.oneOf) return schema.oneOf.filter((one) => fits(value, one)).length === 1;
  if ('const' in schema) return value === schema.const;
  if (![schema.type].flat().includes(typeOf(value))) return false;
  if (schema.format === 'date-time' && value !== null)
    return new Date(String(value)).toISOString() === value;
  const { items } = schema;
  if (Array.isArray(value)) return items !== undefined && value.every((one) => fits(one, items));
  if (typeof value !== 'object' || value === null) return true;
  const { required = [], properties = {} } = schema;
  const members = Object.entries(value);
  return (
    required.every((name) => name in value) &&
    members.every(([name, member]) => properties[name] && fits(member, properties[name]))
  );
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
