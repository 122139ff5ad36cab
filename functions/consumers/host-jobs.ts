import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { type HostJobMessage, hostJobMessage } from '#core/contracts/queue-messages.ts';
import type { BindId } from '#core/domain/ids.ts';
import { startBind } from '#core/operations/bind/start-bind.ts';
import { reprovision } from '#core/operations/host-work/reprovision.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { type Delivery, queueConsumer } from './queue-consumer.ts';

/** A host has something to do, or to clean up → an IoT job. */
export const makeConsumer = queueConsumer('host-jobs', hostJobMessage, startJob);

export const handler = makeConsumer();

async function startJob(
  deps: ConsumerDeps,
  message: HostJobMessage,
  { attempt }: Delivery,
): Promise<void> {
  switch (message.kind) {
    case 'boot':
      return reprovision(deps, message.job_uuid, attempt);
    case 'bind':
      return startBind(deps, message.instance_uuid, message.bind_id as BindId);
    case 'release':
      return startRelease(deps, message.release_id);
  }
}
