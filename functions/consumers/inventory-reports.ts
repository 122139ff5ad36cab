import { acceptReport, receivedReport } from '#core/contracts/inventory-report.ts';
import { ruleEnvelope } from '#core/contracts/queue-messages.ts';
import { applyReport } from '#core/operations/apply-report.ts';
import { hostOf, readPayload } from './payload.ts';
import { queueConsumer } from './queue-consumer.ts';

/** A host's report → stored inventory. */
export const makeConsumer = queueConsumer(
  'inventory-reports',
  ruleEnvelope,
  async (deps, envelope) => {
    const hostname = hostOf(deps, envelope);
    const report = acceptReport(hostname, readPayload(receivedReport, envelope));
    await applyReport(deps, hostname, report, envelope.received_at);
  },
);

export const handler = makeConsumer();
