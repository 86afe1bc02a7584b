import { bodyCutOff, bodyTooLarge } from './problems.ts';

/**
 * The exact bytes of a body, up to a limit.
 *
 * @throws Problem 413 for a larger body, 408 for one that did not arrive completely
 */
export async function readBody(
  chunks: AsyncIterable<Uint8Array>,
  declaredLength: string | null,
  limitBytes: number,
): Promise<Uint8Array> {
  if (Number(declaredLength) > limitBytes) throw bodyTooLarge(limitBytes);
  const received: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    for await (const chunk of chunks) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > limitBytes) break;
      received.push(chunk);
    }
  } catch {
    throw bodyCutOff();
  }
  if (sizeBytes > limitBytes) throw bodyTooLarge(limitBytes);
  return Buffer.concat(received, sizeBytes);
}
