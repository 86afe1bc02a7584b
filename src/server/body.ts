import { bodyCutOff, bodyTooLarge } from './problems.ts';

/**
 * The body's exact bytes, up to a limit.
 *
 * @throws Problem 413 for a larger body, 408 for one that did not arrive whole
 */
export async function readBody(request: Request, limitBytes: number): Promise<Uint8Array> {
  const declared = request.headers.get('content-length');
  if (declared !== null && Number(declared) > limitBytes) throw bodyTooLarge(limitBytes);
  // With a length declared the server reads no further; without one we have to count.
  const body =
    declared === null ? await readCounted(request, limitBytes) : await readWhole(request);
  if (body.byteLength > limitBytes) throw bodyTooLarge(limitBytes);
  return body;
}

async function readWhole(request: Request): Promise<Uint8Array> {
  try {
    return new Uint8Array(await request.arrayBuffer());
  } catch {
    throw bodyCutOff();
  }
}

async function readCounted(request: Request, limitBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  const reader = request.body?.getReader();
  while (reader !== undefined && sizeBytes <= limitBytes) {
    const { done, value } = await reader.read().catch(() => {
      throw bodyCutOff();
    });
    if (done) return Buffer.concat(chunks);
    chunks.push(value);
    sizeBytes += value.byteLength;
  }
  if (sizeBytes > limitBytes) throw bodyTooLarge(limitBytes);
  return Buffer.concat(chunks);
}
