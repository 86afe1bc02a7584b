import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  type Link,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

export { type Span, SpanKind } from '@opentelemetry/api';

/** Uses the SDK that the application registers, before or after our start. Without one it does nothing. */
const tracer = trace.getTracer('instep');

/** The kind and attributes of a span. Its name is one of few: the pattern of a path, never the path. */
export type SpanDescription = {
  readonly kind?: SpanKind;
  /** Named by OpenTelemetry's semantic conventions, without personal data, payloads or secrets. */
  readonly attributes?: Attributes;
};

/** Does work in a span, as part of the active one. */
export function inSpan<Result>(
  name: string,
  description: SpanDescription,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  return inSpanOf(context.active(), name, description, work);
}

/** The caller of a request, with its headers. */
export type Caller = { header(name: string): string | null };

/**
 * Does the work of a request in a span, as part of the active one, which the application may have
 * started, or otherwise of the one that the caller names (`traceparent`).
 */
export function inSpanOfCaller<Result>(
  caller: Caller,
  name: string,
  description: SpanDescription,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const here = context.active();
  const isCalledHere = trace.getSpan(here) !== undefined;
  const parent = isCalledHere ? here : propagation.extract(here, caller, HEADERS);
  return inSpanOf(parent, name, description, work);
}

const HEADERS = {
  get: (caller: Caller, name: string) => caller.header(name) ?? undefined,
  keys: () => [],
};

/** Does work in a span of its own, which is linked with the spans that caused it. */
export function inRootSpan<Result>(
  causes: ReadonlySet<Span>,
  name: string,
  description: SpanDescription,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const links = [...causes].map((cause) => ({ context: cause.spanContext() }));
  return inSpanOf(ROOT_CONTEXT, name, { ...description, links }, (span) => {
    for (const cause of causes) {
      // The span of a request that gave up has ended.
      if (cause.isRecording()) cause.addLink({ context: span.spanContext() });
    }
    return work(span);
  });
}

function inSpanOf<Result>(
  parent: Context,
  name: string,
  description: SpanDescription & { links?: Link[] },
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const span = tracer.startSpan(name, description, parent);
  // Without an SDK: the rest costs three times as much as the work above.
  if (!isSpanContextValid(span.spanContext())) return work(span);
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

/** Marks a span as failed with the error's class and code. Its message may quote payloads. */
export function markFailed(span: Span, error: unknown): void {
  const name = error instanceof Error ? error.name : typeof error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  span.setAttribute('exception.type', name);
  span.setAttribute('error.type', typeof code === 'string' ? code : name);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The active span, if there is one. */
export function activeSpan(): Span | undefined {
  return trace.getActiveSpan();
}

/** Starts something that outlives the active span, such as a connection or a timer. */
export function outsideSpans<Result>(begin: () => Result): Result {
  return context.with(ROOT_CONTEXT, begin);
}
