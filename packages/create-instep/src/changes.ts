// The changes that `init` makes to files: shown as a diff, made all at once, recorded, and reversed.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import { applyPatch, createTwoFilesPatch, parsePatch, reversePatch } from 'diff';
import { paint, printable } from 'instep/setup';
import * as v from 'valibot';
import { type App, fileIn, InitRefused } from './app.ts';

/** The former and the new text of a file; `null`: no file. */
export type FileChange = {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
};

/** What is left to the user, with the lines to add. */
export type Remark = { readonly text: string; readonly lines?: string };

/** Everything that `init` would change in the app's files. */
export type Plan = {
  readonly files: readonly FileChange[];
  readonly remarks: readonly Remark[];
};

/** What `init` has changed, without any secret. It can be committed with the app. */
export const RECORD = '.instep-init.json';

/** Below the folder of the app, because the record can come with a repository. */
const path = v.pipe(
  v.string(),
  v.check((path) => !isAbsolute(path) && !path.split(/[/\\]/).includes('..')),
);

const recordShape = v.object({
  about: v.string(),
  way: v.picklist(['inside', 'beside']),
  installed: v.boolean(),
  files: v.array(v.object({ path, isNew: v.boolean(), patch: v.array(v.string()) })),
});

export type InitRecord = v.InferOutput<typeof recordShape>;
export type Way = InitRecord['way'];

/** @throws InitRefused if it is damaged */
export function readRecord({ read }: App): InitRecord | null {
  const text = read(RECORD);
  try {
    return text === null ? null : v.parse(recordShape, JSON.parse(text));
  } catch (cause) {
    throw new InitRefused(`${RECORD} is damaged: restore it, for example with git`, { cause });
  }
}

export function diffText(changes: readonly FileChange[]): string {
  const patches = changes.filter(({ path }) => path !== RECORD).map(patchOf);
  return patches.join('\n').trimEnd().replace(/^.*$/gm, coloredLine);
}

const COLORS = { '+': 'green', '-': 'red', '@': 'cyan' } as const;

function coloredLine(line: string): string {
  const text = printable(line.replaceAll('\t', '    '));
  const [sign] = text;
  return sign === '+' || sign === '-' || sign === '@' ? paint(COLORS[sign], text) : text;
}

/** The lines around a change of `.env` can be secrets. */
function patchOf({ path, before, after }: FileChange): string {
  const options = { context: path.startsWith('.env') ? 0 : 3 };
  const [from, to] = [before === null ? '/dev/null' : path, after === null ? '/dev/null' : path];
  const patch = createTwoFilesPatch(from, to, before ?? '', after ?? '', '', '', options);
  return patch.replace(/^(?:Index: .*\n)?=+\n/, '').replace(/\t$/gm, '');
}

/** All changes of a plan. The record comes first, so that `--undo` also restores what a killed process left. */
export function changesOf(app: App, plan: Plan, made: Pick<InitRecord, 'way' | 'installed'>) {
  const earlier = readRecord(app);
  const record: InitRecord = {
    about: 'What `npx instep init` has changed. `npx instep init --undo` reverses it.',
    way: made.way,
    installed: made.installed || (earlier?.installed ?? false),
    files: [...(earlier?.files ?? []), ...plan.files.map(recordedFile)],
  };
  const after = `${JSON.stringify(record, null, 2)}\n`;
  const changes = [{ path: RECORD, before: app.read(RECORD), after }, ...plan.files];
  return changes.filter(({ before, after }) => before !== after);
}

function recordedFile(change: FileChange) {
  return { path: change.path, isNew: change.before === null, patch: patchOf(change).split('\n') };
}

/** Writes all files or, after an error, none. @throws InitRefused */
export function writeAll({ folder }: App, changes: readonly FileChange[]): void {
  const written: FileChange[] = [];
  try {
    for (const { path } of changes) {
      const mode = statSync(fileIn(folder, path), { throwIfNoEntry: false })?.mode ?? 0o200;
      // Root could write it.
      if ((mode & 0o200) === 0) throw new Error(`${path} is read-only`);
    }
    for (const change of changes) {
      written.push(change);
      write(folder, change.path, change.after);
    }
  } catch (cause) {
    for (const { path, before } of written.reverse()) write(folder, path, before);
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new InitRefused(`nothing was changed, because of a file: ${reason}`, { cause });
  }
}

/** With a file, the folders that become empty are removed. */
function write(folder: string, path: string, text: string | null): void {
  const file = fileIn(folder, path);
  if (text !== null) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  if (existsSync(file)) rmSync(file);
  const root = realpathSync(folder);
  for (let parent = dirname(file); parent !== root && isEmpty(parent); parent = dirname(parent)) {
    rmdirSync(parent);
  }
}

function isEmpty(folder: string): boolean {
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isFolder && readdirSync(folder).length === 0;
}

/**
 * The changes that reverse what the record says. What was changed since is not overwritten.
 *
 * @throws InitRefused with everything that was changed
 */
export function planUndo(app: App, { files }: InitRecord): FileChange[] {
  const texts = new Map<string, string | null>();
  const changed: string[] = [];
  for (const { path, isNew, patch } of files.toReversed()) {
    const former = formerText(texts.get(path) ?? app.read(path), patch.join('\n'), isNew);
    if (former === undefined) changed.push(path);
    else texts.set(path, former);
  }
  if (changed.length > 0) {
    const list = changed.map((one) => `\n  - ${one}`).join('');
    const remedy = `Restore it by hand, as ${RECORD} shows, and run this again.`;
    throw new InitRefused(`this was changed since \`npx instep init\`:${list}\n${remedy}`);
  }
  return [...texts, [RECORD, null] as const]
    .map(([path, after]) => ({ path, before: app.read(path), after }))
    .filter(({ before, after }) => before !== after);
}

/** The text before the patch, even if other lines have changed; `undefined` if those of the patch have. */
function formerText(text: string | null, patch: string, isNew: boolean): string | null | undefined {
  const [parsed] = parsePatch(patch);
  if (parsed === undefined) return undefined;
  const former = applyPatch(text ?? '', reversePatch(parsed));
  if (former !== false) return isNew && former === '' ? null : former;
  // It was restored already.
  return applyPatch(text ?? '', parsed) === false ? undefined : text;
}
