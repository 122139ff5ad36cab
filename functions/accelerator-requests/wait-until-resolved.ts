import type { NovaDeps } from '#core/deps.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { Caller } from '#core/domain/caller.ts';

/** Most host-made binds take 0.3 to 3 s; the step doubles from the first value to the second. */
const firstStepMs = 100;
const stepMsMax = 250;

/**
 * Reads again while the answer is pending, until the time is over.
 *
 * @returns the last answer
 */
export async function readUntil<T>(
  deps: NovaDeps,
  untilMs: number,
  first: T,
  isPending: (answer: T) => boolean,
  read: () => Promise<T>,
): Promise<T> {
  let answer = first;
  for (let stepMs = firstStepMs; isPending(answer); stepMs = Math.min(2 * stepMs, stepMsMax)) {
    const leftMs = untilMs - deps.clock();
    if (leftMs <= 0) break;
    await deps.sleep(Math.min(stepMs, leftMs));
    answer = await read();
  }
  return answer;
}

/**
 * Waits while the bind of an instance is under way.
 *
 * nova-compute registers for the bind's events, lists the ARQs once, and from then on waits for
 * events only. Nova refuses an event (422) while `instance.host` is unset, and on unshelve of an
 * offloaded server that lasts until after the wait. A list that answers when the bind is resolved
 * needs no event.
 *
 * @returns the binding as it is then; undefined if it was released meanwhile
 */
export function waitUntilResolved(
  deps: NovaDeps,
  before: InstanceBinding,
  untilMs: number,
): Promise<InstanceBinding | undefined> {
  const read = () => deps.store.arqs.binding(before.instanceUuid);
  return readUntil<InstanceBinding | undefined>(deps, untilMs, before, isUnderWay, read);
}

/**
 * The binding for a list of its ARQs. A caller that sees the bind under way may wait for its
 * event; Nova is not notified of a bind that no list has shown under way.
 */
export async function listedBinding(
  deps: NovaDeps,
  before: InstanceBinding,
): Promise<InstanceBinding | undefined> {
  let binding: InstanceBinding | undefined = before;
  while (isUnderWay(binding) && binding.isAwaited === false) {
    if (await deps.store.bindings.awaitEvent(binding.instanceUuid)) break;
    binding = await deps.store.arqs.binding(before.instanceUuid);
  }
  return binding;
}

/** Nova waits for no event of an ARQ that is reprovisioned after a reboot of its host. */
function isUnderWay(binding: InstanceBinding | undefined): binding is InstanceBinding {
  return binding?.state === 'BindStarted';
}

/**
 * True if the caller needs the outcome. Nova's own parameter would be `bind_state=resolved`, but
 * no released Nova sends it: nova-compute lists all ARQs and filters. Its service token identifies
 * it. If the deployment requires no service token, every list by instance waits.
 */
export function asksForOutcome(
  deps: NovaDeps,
  caller: Caller,
  bindState: 'resolved' | undefined,
): boolean {
  return bindState === 'resolved' || caller.hasServiceToken || !deps.settings.requireServiceToken;
}
