// Requests to the API of a system whose processes are killed, repeated as Nova repeats them.

import { waitFor } from '#local/demo/demo-client.ts';
import { stillSecondsMax } from '#local/demo/stillness.ts';
import { type Layout, urlOf } from '#local/process/layout.ts';

export interface PatientAnswer {
  readonly status: number;
  readonly json: ReturnType<typeof JSON.parse>;
}

const asNova = { 'X-Service-Token': 'nova-token' };

/**
 * Repeats the request until there is an answer, as Nova does.
 *
 * @param caller headers that say who asks besides the admin; by default Nova
 */
export async function askPatiently(
  layout: Layout,
  method: string,
  path: string,
  body?: unknown,
  caller: Readonly<Record<string, string>> = asNova,
): Promise<PatientAnswer> {
  const answer = await waitFor(
    `an answer to ${method} ${path}`,
    () => askOnce(layout, method, path, body, caller).catch((error: Error) => error.message),
    (given) => typeof given !== 'string' && given.status < 500,
  );
  if (typeof answer === 'string') throw new Error(answer);
  return answer;
}

/** Rejects while the API starts, and when it is killed before it answers. */
async function askOnce(
  layout: Layout,
  method: string,
  path: string,
  body: unknown,
  caller: Readonly<Record<string, string>>,
): Promise<PatientAnswer> {
  const response = await fetch(`${urlOf(layout, 'api')}/accelerator/v2${path}`, {
    method,
    headers: {
      'X-Auth-Token': 'admin-token',
      ...caller,
      'Content-Type': 'application/json',
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(stillSecondsMax * 1000),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
}
