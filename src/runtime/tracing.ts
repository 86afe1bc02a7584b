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

/** Of whichever SDK is registered, before or after our start. Without one spans are nothing. */
const tracer = trace.getTracer('instep');

/** What a span says; its name is one of few: a path's pattern, and never what stands in its place. */
export type SpanDescription = {
  readonly kind?: SpanKind;
  /** Named by OpenTelemetry's semantic conventions. Nobody's data, no payload, and no secret. */
  readonly attributes?: Attributes;
};

/** Does the work in a span, which is part of the one that is under way. */
export function inSpan<Result>(
  name: string,
  description: SpanDescription,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  return inSpanOf(context.active(), name, description, work);
}

/** Who asked for something, and what their headers say. */
export type Caller = { header(name: string): string | null };

/**
 * Does the caller's work in a span, which is part of what the caller names (`traceparent`), unless
 * it is part of something here: whoever mounts us may have a span of their own.
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

/** Does work that is part of none of its causes. It and they are linked, each with the other. */
export function inRootSpan<Result>(
  causes: ReadonlySet<Span>,
  name: string,
  description: SpanDescription,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const links = [...causes].map((cause) => ({ context: cause.spanContext() }));
  return inSpanOf(ROOT_CONTEXT, name, { ...description, links }, (span) => {
    for (const cause of causes) {
      // One that has waited too long has ended.
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
  // Nobody traces, and what follows costs three times as much as what came before.
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

/** Says what went wrong, by class and code: messages may quote what is nobody's business. */
export function markFailed(span: Span, error: unknown): void {
  const name = error instanceof Error ? error.name : typeof error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  span.setAttribute('exception.type', name);
  span.setAttribute('error.type', typeof code === 'string' ? code : name);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The span that is under way, if there is one. */
export function activeSpan(): Span | undefined {
  return trace.getActiveSpan();
}

/** Begins what outlives the span that is under way, such as a connection or a timer. */
export function outsideSpans<Result>(begin: () => Result): Result {
  return context.with(ROOT_CONTEXT, begin);
}
