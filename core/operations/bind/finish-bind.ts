import { validInfo } from '#core/contracts/attach-handle.ts';
import type { Deps } from '#core/deps.ts';
import type { BindFailure, InstanceBinding } from '#core/domain/arq/arq.ts';
import { bindDueAt, unboundUntil, workDueAt } from '#core/domain/host-work/deadlines.ts';
import type { BindId } from '#core/domain/ids.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { boundArqs } from '#core/operations/host-work/bound-arqs.ts';
import { newRelease } from '#core/operations/host-work/new-release.ts';
import { planCleaning } from '#core/operations/host-work/plan-cleaning.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { BoundArq } from '#core/store/arqs/binding-items.ts';
import { timeNow } from '../time-now.ts';

/**
 * Resolves a binding that its host has made ready.
 *
 * @param bootId the boot in which the host has; undefined where it had nothing to do
 * @param prepared what hypervisors attach, where the host has chosen it
 * @throws RetryLater where the host has booted again
 */
export async function succeedBind(
  deps: Deps,
  binding: InstanceBinding,
  bootId?: string,
  prepared: PreparedInfo = {},
): Promise<void> {
  const isDone = await resolve(deps, binding, async (current, arqs) => {
    const ready = arqs.map((arq) => withPrepared(arq, prepared));
    if (await deps.store.bindings.succeed(current, ready, timeNow(deps), bootId)) return true;
    if (bootId !== undefined) await refuseOtherBoot(deps, current.hostname, bootId);
    return false;
  });
  if (isDone) deps.log.info('ARQs bound', logFields(binding));
}

/** `info` by the uuids of handles. */
export type PreparedInfo = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The ARQ with the `info` that its host has chosen, if it is valid for the type. */
function withPrepared(arq: BoundArq, prepared: PreparedInfo): BoundArq {
  const { attachment } = arq.binding;
  const chosen = attachment && prepared[attachment.handleUuid];
  const info = chosen && validInfo({ type: attachment.type, info: chosen });
  if (!info) return arq;
  return { ...arq, binding: { ...arq.binding, attachment: { ...attachment, info } } };
}

/** @throws RetryLater where the host has booted since */
export async function refuseOtherBoot(deps: Deps, hostname: string, bootId: string): Promise<void> {
  const { host } = await deps.store.inventory.host(hostname);
  if (host.bootId !== bootId) throw new RetryLater(`Host ${hostname} has booted again.`, 1);
}

/**
 * Nothing of the binding is made ready, and nothing stays claimed. The ARQs stay, as failed, until
 * Nova deletes them.
 *
 * @param left `nothing` where the host has checked that it made nothing: then nothing is cleaned
 * up
 */
export async function failBind(
  deps: Deps,
  binding: InstanceBinding,
  failure: BindFailure,
  left?: 'nothing',
): Promise<void> {
  const isDone = await resolve(deps, binding, (current, arqs) => {
    const ending = { binding: current, arqs, isWhole: true, requestId: deps.requestId };
    const plan = left ? undefined : planCleaning(ending);
    return deps.store.bindings.fail(current, failure, {
      arqs,
      fate: 'unbound',
      left: [],
      ...(plan && { cleaning: newRelease(deps, plan) }),
      change: makeChangeNote(deps),
      unboundUntil: unboundUntil(deps.settings, deps.clock()),
    });
  });
  if (!isDone) return;
  deps.log.warn('Bind failed', { ...logFields(binding), ...failure });
}

/**
 * Starts a bind again that began before a boot of its host. It keeps its handles and its deadline,
 * and gets another id: AWS IoT creates a job once for each id, and a late end of the earlier job
 * changes nothing. A bind that is due fails. A boot reprovisions other bindings instead.
 */
export async function bindAgain(deps: Deps, binding: InstanceBinding): Promise<void> {
  if (binding.state !== 'BindStarted') return;
  const startedMs = Date.parse(binding.startedAt);
  if (workDueAt('bind', deps.settings, startedMs) <= timeNow(deps)) {
    const reason = `Host ${binding.hostname} has booted since the bind began.`;
    await failBind(deps, binding, { cause: 'boot', reason });
    return;
  }
  const bindId = deps.uuid() as BindId;
  const isDone = await resolve(deps, binding, (current, arqs) => {
    const groups = arqs.map(({ group }) => group);
    const dueAt = bindDueAt(groups, deps.settings, startedMs, deps.clock());
    return deps.store.bindings.startAgain(current, arqs, bindId, timeNow(deps), dueAt);
  });
  if (isDone)
    deps.log.info('Bind started again: host booted', { ...logFields(binding), by: bindId });
}

/** The fields of a log line about a binding. */
function logFields({ instanceUuid, bindId, requestId }: InstanceBinding) {
  return { instance: instanceUuid, bind: bindId, ...present({ request_id: requestId }) };
}

/**
 * Repeats the write until it holds. Ends with false where the binding is another, or no longer in
 * the state in which it was given.
 */
export async function resolve(
  deps: Deps,
  binding: InstanceBinding,
  write: (current: InstanceBinding, arqs: BoundArq[]) => Promise<boolean>,
): Promise<boolean> {
  return untilWritten(
    'arqs',
    async () => {
      const current = await deps.store.arqs.binding(binding.instanceUuid);
      const isSame =
        current?.bindId === binding.bindId &&
        current.state === binding.state &&
        current.jobUuid === binding.jobUuid;
      if (!isSame) return false;
      return (await write(current, await boundArqs(deps, current))) || contended;
    },
    `The binding of instance ${binding.instanceUuid} was not resolved`,
  );
}
