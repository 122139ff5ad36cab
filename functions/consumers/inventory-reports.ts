import { type RuleEnvelope, ruleEnvelope } from '#core/contracts/queues/queue-messages.ts';
import { acceptReport, receivedReport } from '#core/contracts/report/inventory-report.ts';
import { type ReportHead, reportHead } from '#core/contracts/report/report-head.ts';
import { receiveReport } from '#core/operations/inventory/receive-report.ts';
import { readEnvelopeHost, readPayload } from './batch/payload.ts';
import { queueConsumer } from './batch/queue-consumer.ts';

/** A host's report → stored inventory. */
export const makeConsumer = queueConsumer(
  'inventory-reports',
  ruleEnvelope,
  async (deps, envelope, { attempt }) => {
    const hostname = readEnvelopeHost(deps, envelope);
    await receiveReport(deps, hostname, {
      head: readHead(envelope),
      read: () => acceptReport(envelope.thing, readPayload(receivedReport, envelope)),
      receivedAtMs: envelope.received_at,
      attempt,
    });
  },
);

/**
 * The head of the report; without a valid head, the error lists all faults of the report. @throws
 * Unreadable
 */
function readHead(envelope: RuleEnvelope): ReportHead {
  try {
    return readPayload(reportHead, envelope);
  } catch {
    return readPayload(receivedReport, envelope);
  }
}

export const handler = makeConsumer();
