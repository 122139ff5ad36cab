import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { type HostJobMessageOf, hostJobMessage } from '#core/contracts/queues/queue-messages.ts';
import type { QueuedWorkKind } from '#core/domain/host-work/host-work.ts';
import type { BindId } from '#core/domain/ids.ts';
import { startBind } from '#core/operations/bind/start-bind.ts';
import { startProgram } from '#core/operations/program/start-program.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { startReprovision } from '#core/operations/reprovision/start-reprovision.ts';
import { queueConsumer } from './batch/queue-consumer.ts';

type Start<Kind extends QueuedWorkKind> = (
  deps: ConsumerDeps,
  message: HostJobMessageOf<Kind>,
  attempt: number,
) => Promise<void>;

const start: { readonly [Kind in QueuedWorkKind]: Start<Kind> } = {
  bind: (deps, message) =>
    startBind(deps, message.instance_uuid, message.bind_id as BindId, message.was_sent),
  release: (deps, message) => startRelease(deps, message.release_id, message.was_sent),
  reprovision: (deps, message, attempt) => startReprovision(deps, message.job_uuid, attempt),
  program: (deps, message) => startProgram(deps, message.program_id),
};

/** Host work was stored → a message to the host, or an IoT job. */
export const makeConsumer = queueConsumer(
  'host-jobs',
  hostJobMessage,
  (deps, message, { attempt }) => startWork(deps, message.kind, message, attempt),
);

export const handler = makeConsumer();

function startWork<Kind extends QueuedWorkKind>(
  deps: ConsumerDeps,
  kind: Kind,
  message: HostJobMessageOf<Kind>,
  attempt: number,
): Promise<void> {
  return start[kind](deps, message, attempt);
}
