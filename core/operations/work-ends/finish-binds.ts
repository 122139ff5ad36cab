import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { readDetail } from '#core/contracts/jobs/job-document.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { JobNote } from '#core/domain/host-work/host-work.ts';
import { type BindingEnd, bindingEnd } from '#core/domain/host-work/ways.ts';
import {
  bindAgain,
  failBind,
  type PreparedInfo,
  succeedBind,
} from '#core/operations/bind/finish-bind.ts';
import { noteSuccess } from '#core/operations/release/quarantine.ts';
import { reprovisionInstance } from '#core/operations/reprovision/reprovision-host.ts';
import { handleInfo } from '#core/shapes/attach-handle.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { timeNow } from '../time-now.ts';
import {
  type EndOfJob,
  failureReason,
  isOfAnotherHost,
  mistrustReason,
  noteFailure,
} from './end-of-job.ts';

interface EndedBinding {
  readonly binding: InstanceBinding;
  readonly inventory: HostInventory;
  readonly jobUuid: string;
  readonly note: JobNote;
  readonly event: EndOfJob;
}

/** Resolves the bindings that the job was for. */
export async function finishBinds(
  deps: ConsumerDeps,
  jobUuid: string,
  event: EndOfJob,
): Promise<void> {
  const note = await deps.store.arqs.jobNote(jobUuid);
  if (!note) return;
  for (const instanceUuid of note.instances) {
    const binding = await deps.store.arqs.binding(instanceUuid);
    // Another bind, or another boot's job, resolves the binding.
    if (!binding || !isResolvedBy(binding, jobUuid, note)) continue;
    if (isOfAnotherHost(deps, binding, event)) return;
    const inventory = await deps.store.inventory.host(binding.hostname);
    const end = bindingEnd(note, inventory.host, event.operation === 'succeeded');
    await finish[end](deps, { binding, inventory, jobUuid, note, event });
    if (end !== 'left-to-own-job') await forgetWaiting(deps, binding, inventory);
  }
  await deps.store.arqs.forgetJob(jobUuid);
}

function isResolvedBy(
  { state, bindId, jobUuid }: InstanceBinding,
  endedJob: string,
  { bindIds }: JobNote,
): boolean {
  if (state === 'provisioning') return jobUuid === endedJob;
  return state === 'BindStarted' && (bindIds?.includes(bindId) ?? bindId === endedJob);
}

type Finish = (deps: ConsumerDeps, ended: EndedBinding) => Promise<void>;

const finish: Readonly<Record<BindingEnd, Finish>> = {
  async ready(deps, { binding, inventory, note, event }) {
    await succeedBind(deps, binding, note.bootId, preparedBy(event));
    // The end of the bind's own job has no effect any more.
    if (note.bindIds) await deps.store.arqs.forgetJob(binding.bindId);
    if (inventory.host.failedJobs) await noteSuccess(deps, inventory);
  },

  async failed(deps, { binding, inventory, event }) {
    // Count the failure first: for the same event again the binding has failed already.
    await noteFailure(deps, inventory.host, event, 1);
    // A shared job that has the bind, too, may yet leave something.
    const left = hasWaited(binding, inventory) ? undefined : leftBy(event);
    await failBind(deps, binding, { cause: 'host', reason: failureReason(event) }, left);
  },

  'job-for-each': (deps, { binding, inventory }) =>
    reprovisionInstance(deps, inventory.host, binding),

  async 'left-to-own-job'(deps, { binding, jobUuid, event }) {
    const now = timeNow(deps);
    const { hostname: host, bindId } = binding;
    await deps.store.waitingBinds.putShared(host, [bindId], now);
    deps.log.warn('Shared job failed', { host, job: jobUuid, reason: failureReason(event) });
  },

  'another-boot': (deps, { binding }) => bindAgain(deps, binding),

  async mistrusted(deps, { binding, inventory }) {
    // Provisioning goes on when the host is trusted again.
    if (binding.state !== 'BindStarted') return;
    const reason = mistrustReason(inventory.host) ?? '';
    await failBind(deps, binding, { cause: 'host', reason });
  },
};

function hasWaited({ bindId }: InstanceBinding, { waiting }: HostInventory): boolean {
  return waiting.some((each) => each.bindId === bindId);
}

async function forgetWaiting(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  inventory: HostInventory,
): Promise<void> {
  if (!hasWaited(binding, inventory)) return;
  await deps.store.waitingBinds.forget(binding.hostname, [binding.bindId]);
}

/** `nothing` where the host itself says that the job has left nothing. */
function leftBy({ operation, statusDetails }: EndOfJob): 'nothing' | undefined {
  return operation === 'failed' && statusDetails?.left === 'nothing' ? 'nothing' : undefined;
}

/** `info` that the host has chosen for handles, by their uuids. */
function preparedBy({ statusDetails }: EndOfJob): PreparedInfo {
  return readDetail(z.record(z.string(), handleInfo), statusDetails?.prepared) ?? {};
}
