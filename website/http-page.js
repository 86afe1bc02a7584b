import { parse } from 'yaml';

/** A page of Markdown about the operations and schemas of an OpenAPI document. */
export function httpPage(openapi) {
  const document = parse(openapi);
  const resolve = (node) =>
    node.$ref === undefined
      ? node
      : node.$ref
          .slice(2)
          .split('/')
          .reduce((at, key) => at[key], document);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => describe(method, path, operation)),
  );
  const schemas = Object.entries(document.components.schemas)
    .filter(([, { properties }]) => properties !== undefined)
    .map(([name, schema]) => `### ${name}\n\n${schema.description ?? ''}\n\n${fieldsOf(schema)}`);
  const introduction =
    'The requests that Instep answers, from its [OpenAPI document](openapi.yaml). ' +
    '[The contract](docs/contract.md) says what the first two do.';
  return ['# HTTP', introduction, ...operations, '## Schemas', ...schemas, ''].join('\n\n');

  function describe(method, path, { summary, description, parameters, requestBody, responses }) {
    const rows = Object.entries(responses).map(([status, reference]) => {
      const { description: meaning, content } = resolve(reference);
      const bodies = Object.values(content ?? {}).map(({ schema }) => typeOf(schema));
      return `| ${status} | ${line(meaning)} | ${bodies.join(', ')} |`;
    });
    const inputs = (parameters ?? []).map(resolve).map((one) => {
      return `| \`${one.name}\` | ${one.in} | ${line(one.description)} |`;
    });
    if (requestBody !== undefined) {
      const [{ schema }] = Object.values(requestBody.content);
      const of = Object.keys(schema.properties ?? {}).map((name) => `\`${name}\``);
      const meaning = requestBody.description ?? `JSON with ${of.join(', ')}.`;
      inputs.push(`| body | JSON | ${line(meaning)} |`);
    }
    return [
      `## ${method.toUpperCase()} ${path.replaceAll('{', '\\{')}`,
      `${summary}.`,
      description ?? '',
      inputs.length === 0 ? '' : table('parameter | where | meaning', inputs),
      table('status | meaning | body', rows),
    ].join('\n\n');
  }

  function fieldsOf({ properties = {}, required = [] }) {
    const rows = Object.entries(properties).map(([name, schema]) => {
      const optional = required.includes(name) ? '' : ' (optional)';
      return `| \`${name}\`${optional} | ${typeOf(schema)} | ${line(resolve(schema).description)} |`;
    });
    return table('field | type | meaning', rows);
  }

  function typeOf(schema) {
    if (schema.$ref !== undefined) {
      const name = schema.$ref.split('/').at(-1);
      if (resolve(schema).properties === undefined) return typeOf(resolve(schema));
      return `[${name}](#${name.toLowerCase()})`;
    }
    const alternatives = schema.oneOf ?? schema.anyOf;
    if (alternatives !== undefined) return alternatives.map(typeOf).join(' or ');
    if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ');
    if (schema.const !== undefined) return `\`${schema.const}\``;
    if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
    return (
      [schema.type ?? 'any'].flat().join(' or ') + (schema.format ? ` (${schema.format})` : '')
    );
  }
}

const line = (text = '') => text.trim().replace(/\s+/g, ' ').replaceAll('|', '\\|');

function table(head, rows) {
  const columns = head.split('|').map(() => '---');
  return [`| ${head} |`, `| ${columns.join(' | ')} |`, ...rows].join('\n');
}
