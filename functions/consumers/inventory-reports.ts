import { inventoryReport } from '#core/contracts/inventory-report.ts';
import { ruleEnvelope } from '#core/contracts/queue-messages.ts';
import { hostnameOf } from '#core/contracts/topics.ts';
import { applyReport } from '#core/operations/apply-report.ts';
import { parsePayload } from './payload.ts';
import { queueConsumer } from './queue-consumer.ts';

/** A host's report → stored inventory. The host is whose topic it came by. */
export const handler = queueConsumer('inventory-reports', ruleEnvelope, async (deps, envelope) => {
  const hostname = hostnameOf(envelope.thing);
  const report = parsePayload(deps, inventoryReport, envelope);
  if (report) await applyReport(deps, hostname, report, envelope.received_at);
});
