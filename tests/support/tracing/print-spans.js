// An SDK that an operator imports before `instep serve` (docs/monitor.md). Spans are kept, and
// exported when the process ends: here to standard error, one per line.
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const exporter = {
  export(spans, done) {
    for (const span of spans) {
      process.stderr.write(`${JSON.stringify({ span: span.name, ...span.spanContext() })}\n`);
    }
    done({ code: 0 });
  },
  shutdown: async () => undefined,
};

const spanProcessors = [new BatchSpanProcessor(exporter, { scheduledDelayMillis: 3_600_000 })];
const provider = new BasicTracerProvider({ spanProcessors });
context.setGlobalContextManager(new AsyncLocalStorageContextManager());
trace.setGlobalTracerProvider(provider);
process.once('beforeExit', () => provider.shutdown());
