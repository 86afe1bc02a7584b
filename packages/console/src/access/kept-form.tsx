import { timingSafeEqual } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Context } from 'hono';
import type { PropsWithChildren } from 'hono/jsx';
import { Button, CSRF_FIELD, PostForm } from '../components/form.tsx';
import { capitalized, UntrustedText } from '../components/text.tsx';
import { Page } from '../page.tsx';
import { sign } from './cookie-sessions.ts';

/** A form that was not processed, kept so that the user need not enter it again. */
type KeptForm = {
  readonly path: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
};

/** A longer one does not fit in a URL. */
const MAX_SEALED_LENGTH = 6_000;

export async function readForm({ req }: Context): Promise<KeptForm> {
  const fields = [...(await req.formData())].filter(
    (field): field is [string, string] => field[0] !== CSRF_FIELD && typeof field[1] === 'string',
  );
  return { path: req.path, fields };
}

/** The form as a signed parameter, which only this server can make; `null` when it is too long. */
export function sealForm(form: KeptForm, key: Uint8Array): string | null {
  const content = deflateRawSync(JSON.stringify(form)).toString('base64url');
  const sealed = `${content}.${sign(key, content)}`;
  return sealed.length > MAX_SEALED_LENGTH ? null : sealed;
}

/** The form in a signed parameter; `null` when the signature is wrong. */
export function unsealForm(sealed: string, key: Uint8Array): KeptForm | null {
  const [content = '', signature = ''] = sealed.split('.');
  const [given, expected] = [Buffer.from(signature), Buffer.from(sign(key, content))];
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  return JSON.parse(inflateRawSync(Buffer.from(content, 'base64url')).toString());
}

type KeptFormProps = PropsWithChildren<{ readonly title: string; readonly form: KeptForm }>;

/** Offers to send a form that was not processed, and says what it does. */
export function KeptFormPage({
  title,
  form,
  children = 'Nothing has changed yet.',
}: KeptFormProps) {
  const entered = form.fields.filter(([, value]) => value !== '');
  return (
    <Page title={title} area={null}>
      <p>{children} Your input was kept.</p>
      <p class="lead">
        <UntrustedText text={purposeOf(form)} />
      </p>
      {entered.length > 0 && (
        <ul>
          {entered.map(([name, value]) => (
            <li>
              <UntrustedText text={`${name}: ${value}`} />
            </li>
          ))}
        </ul>
      )}
      <PostForm action={form.path}>
        {form.fields.map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <div class="toolbar">
          <Button kind="main">Send again</Button>
          <a href="/">Cancel</a>
        </div>
      </PostForm>
    </Page>
  );
}

/** `Replay event 7` for `/events/7/replay`, otherwise the name of the page: `Reconcile`. */
function purposeOf({ path }: KeptForm): string {
  const [, subject, id, action] = /^\/(team|event)s\/([^/]+)\/(\w+)$/.exec(path) ?? [];
  const words = action === undefined ? path.slice(1) : `${action} ${subject} ${id}`;
  return capitalized(words);
}
