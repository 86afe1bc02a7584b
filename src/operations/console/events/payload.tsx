import { UntrustedText } from '../components/untrusted-text.tsx';
import { type JsonNode, readJsonTree } from './json-tree.ts';

/** More of a body that is no JSON is not shown. */
const MAX_SHOWN = 4_000;

/** Objects and lists within so many others are open at first. */
const OPEN_DEPTH = 3;

/** What arrived, as a tree. */
export function Payload({ body }: { readonly body: Uint8Array }) {
  const text = new TextDecoder().decode(body);
  const tree = readJsonTree(text);
  if (tree !== null) {
    return (
      <div class="json">
        <Node node={tree} name={null} depth={0} />
      </div>
    );
  }
  return (
    <>
      <p>These bytes are no JSON.</p>
      <pre>
        <bdi>{text.slice(0, MAX_SHOWN)}</bdi>
      </pre>
      {text.length > MAX_SHOWN && <p class="quiet">The rest is in the file.</p>}
    </>
  );
}

type NodeProps = {
  readonly node: JsonNode;
  /** Of the member that it is; `null` for an item of a list. */
  readonly name: string | null;
  readonly depth: number;
};

function Node({ node, name, depth }: NodeProps) {
  if (node.kind !== 'object' && node.kind !== 'list') {
    return (
      <div>
        <Name name={name} />
        <Leaf node={node} />
      </div>
    );
  }
  const isObject = node.kind === 'object';
  const children: readonly (readonly [string | null, JsonNode])[] = isObject
    ? node.members.map(({ name, value }) => [name, value] as const)
    : node.items.map((item) => [null, item] as const);
  const [opening, closing] = isObject ? ['{', '}'] : ['[', ']'];
  if (children.length === 0 && !node.isCut) {
    return (
      <div>
        <Name name={name} />
        {opening + closing}
      </div>
    );
  }
  return (
    <details open={depth < OPEN_DEPTH}>
      <summary>
        <Name name={name} />
        {opening} <span class="quiet">{counted(children.length, isObject, node.isCut)}</span>{' '}
        {closing}
      </summary>
      {children.map(([childName, child]) => (
        <Node node={child} name={childName} depth={depth + 1} />
      ))}
      {node.isCut && <div class="quiet">The rest is in the file.</div>}
    </details>
  );
}

function Name({ name }: { readonly name: string | null }) {
  if (name === null) return null;
  return (
    <>
      <span class="json-name">
        <UntrustedText text={name} />
      </span>
      :{' '}
    </>
  );
}

function Leaf({ node }: { readonly node: Exclude<JsonNode, { kind: 'object' | 'list' }> }) {
  switch (node.kind) {
    case 'text':
      return (
        <span class="json-text">
          "<UntrustedText text={node.text} maxLength={300} />"
        </span>
      );
    case 'literal':
      return <span class="json-literal">{node.source}</span>;
    case 'too deep':
      return <span class="quiet">nested too deeply to be shown: see the file</span>;
  }
}

function counted(count: number, isObject: boolean, isCut: boolean): string {
  const what = isObject ? 'member' : 'item';
  return `${count}${isCut ? ' or more' : ''} ${what}${count === 1 ? '' : 's'}`;
}
