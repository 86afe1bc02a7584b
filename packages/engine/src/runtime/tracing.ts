// Spans of OpenTelemetry, if the process has registered an SDK: one place decides when the API is loaded, and what a
// span contains.

import { codeOf } from './errors.ts';

// An optional peer, so the published types name nothing of it.
type Api = typeof import('@opentelemetry/api');

/** What is used of a span of OpenTelemetry. */
export type Span = {
  setAttribute(name: string, value: string | number): unknown;
  setStatus(status: { code: number }): unknown;
  spanContext(): SpanContext;
  isRecording(): boolean;
  addLink(link: { context: SpanContext }): unknown;
};

type SpanContext = { traceId: string; spanId: string; traceFlags: number };

/** The global under which every copy of the API stores what an SDK has registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

let api: Api | undefined;
/** `null`: it is not installed. */
let loading: Promise<Api | null> | undefined;

/**
 * Does traced work with the API once an SDK has registered itself, before or after our start. Not loading
 * the API before then saves a tenth of the CPU time until the first response.
 */
function withApi<Result>(
  traced: (api: Api) => Promise<Result>,
  untraced: () => Promise<Result>,
): Promise<Result> {
  if (api !== undefined) return traced(api);
  if (!(REGISTERED in globalThis)) return untraced();
  // One expression, in which bundlers see that it can be missing.
  loading ??= import('@opentelemetry/api').then(
    (loaded) => {
      api = loaded;
      return loaded;
    },
    () => null,
  );
  // Chained directly to the loading, so that statements that are sent together keep their order.
  return loading.then((loaded) => (loaded === null ? untraced() : traced(loaded)));
}

/**
 * The kind and attributes of a span. Its name has few values, such as the pattern of a path, never the path.
 */
export type SpanDescription = {
  readonly kind?: 'INTERNAL' | 'SERVER' | 'CLIENT' | 'PRODUCER' | 'CONSUMER';
  /** Named by OpenTelemetry's semantic conventions, without personal data, payloads or secrets. */
  readonly attributes?: Readonly<Record<string, string | number>>;
};

/** Work in a span, which is `undefined` when tracing is off. */
type Work<Result> = (span: Span | undefined) => Promise<Result>;

type Caller = { header(name: string): string | null };

/**
 * Does work in a span, as part of the active one, which the application can have started, or else of that of the `caller`
 * whose request it is (`traceparent`).
 */
export function inSpan<Result>(
  name: string,
  { caller, ...description }: SpanDescription & { readonly caller?: Caller },
  work: Work<Result>,
): Promise<Result> {
  return withApi(
    (api) => inSpanOf(api, parentOf(api, caller), name, description, work),
    () => work(undefined),
  );
}

function parentOf({ context, trace, propagation }: Api, caller: Caller | undefined) {
  const active = context.active();
  const isCaller = caller !== undefined && trace.getSpan(active) === undefined;
  return isCaller ? propagation.extract(active, caller, HEADERS) : active;
}

const HEADERS = {
  get: (caller: Caller, name: string) => caller.header(name) ?? undefined,
  keys: () => [],
};

/** Does work in a root span, which is linked to the spans that caused it. */
export function inRootSpan<Result>(
  causes: ReadonlySet<Span>,
  name: string,
  description: SpanDescription,
  work: () => Promise<Result>,
): Promise<Result> {
  return withApi((api) => {
    const links = [...causes].map((cause) => ({ context: cause.spanContext() }));
    return inSpanOf(api, api.ROOT_CONTEXT, name, { ...description, links }, (span) => {
      for (const cause of causes) {
        // The span of a request that has given up has already ended.
        if (cause.isRecording()) cause.addLink({ context: span.spanContext() });
      }
      return work();
    });
  }, work);
}

function inSpanOf<Result>(
  { context, trace, SpanKind }: Api,
  parent: ReturnType<Api['context']['active']>,
  name: string,
  { kind = 'INTERNAL', ...description }: SpanDescription & { links?: { context: SpanContext }[] },
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const tracer = trace.getTracer('instep');
  const span = tracer.startSpan(name, { ...description, kind: SpanKind[kind] }, parent);
  return context.with(trace.setSpan(parent, span), async () => {
    try {
      return await work(span);
    } catch (error) {
      markFailed(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

/**
 * Marks a span as failed with the error's class and code, but not with the message, which can quote payloads.
 */
export function markFailed(span: Span | undefined, error: unknown): void {
  if (api === undefined || span === undefined) return;
  const name = error instanceof Error ? error.name : typeof error;
  span.setAttribute('exception.type', name);
  span.setAttribute('error.type', codeOf(error) ?? name);
  span.setStatus({ code: api.SpanStatusCode.ERROR });
}

export function activeSpan(): Span | undefined {
  return api?.trace.getActiveSpan();
}

/** Starts work that outlives the active span, such as opening a connection. */
export function outsideSpans<Result>(begin: () => Promise<Result>): Promise<Result> {
  return withApi(({ context, ROOT_CONTEXT }) => context.with(ROOT_CONTEXT, begin), begin);
}
