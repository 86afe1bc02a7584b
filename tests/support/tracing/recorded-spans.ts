import {
  type Context,
  context,
  propagation,
  type TextMapPropagator,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { vi } from 'vitest';

/** The part of W3C's Trace Context that the tests need. */
const propagator: TextMapPropagator = {
  inject: () => undefined,
  extract(parent: Context, carrier, getter): Context {
    const header = String(getter.get(carrier, 'traceparent'));
    const [, traceId = '', spanId = ''] = /^00-([\da-f]{32})-([\da-f]{16})-01$/.exec(header) ?? [];
    if (traceId === '') return parent;
    return trace.setSpanContext(parent, { traceId, spanId, traceFlags: 1, isRemote: true });
  },
  fields: () => ['traceparent'],
};

/** Registers an SDK in this process, as an operator would, and keeps every span in memory. */
export function recordSpans() {
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor(exporter)];
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(propagator);
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));

  const spans = {
    /** All spans that have ended. */
    all: (): ReadableSpan[] => exporter.getFinishedSpans(),

    /** The direct children of this span, in the order of their ends. */
    partsOf: (span: ReadableSpan) =>
      spans.all().filter((part) => part.parentSpanContext?.spanId === idOf(span)),

    /** Spans that link to this one, or that this one links to. */
    linkedWith: (span: ReadableSpan) =>
      spans.all().filter((other) => isLinked(other, span) && isLinked(span, other)),

    /** Waits for a span with this name that matches. */
    find: (name: string, isMeant: (span: ReadableSpan) => boolean = () => true) =>
      vi.waitFor(() => {
        const found = spans.all().find((span) => span.name === name && isMeant(span));
        if (found === undefined) throw new Error(`no span ${name}`);
        return found;
      }),
  };
  return spans;
}

export const idOf = (span: ReadableSpan) => span.spanContext().spanId;

function isLinked(from: ReadableSpan, to: ReadableSpan): boolean {
  return from.links.some(({ context }) => context.spanId === idOf(to));
}
