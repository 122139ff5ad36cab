// A consumer's hold on the messages that it works on. A queue's own visibility time must outlast
// the function's timeout (AWS refuses an event source otherwise), so a killed consumer would delay
// its messages by that much. The lease is short and renewed: after a kill the messages are
// delivered again within seconds.

import { ChangeMessageVisibilityBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import type { Log } from '#core/log.ts';

/** Longest delay after a killed consumer; docs/guarantees.md promises that it ends within 10 s. */
const leaseSeconds = 8;
/** Three renewals may fail before the lease ends. */
const renewMs = 2500;

export interface MessageLease {
  /** Ends the lease: the message is done, or has a visibility time of its own. */
  end(record: SQSRecord): void;
  /** Resolves when no renewal is in flight; no renewal begins afterwards. */
  stop(): Promise<void>;
}

/** @param log for failed renewals; the messages may be delivered twice then */
export function holdMessages(
  sqs: Pick<SQSClient, 'send'>,
  queueUrl: string,
  records: readonly SQSRecord[],
  log: Pick<Log, 'warn'>,
): MessageLease {
  const held = new Set(records);
  const renew = async (): Promise<void> => {
    const entries = [...held].map(({ receiptHandle }, at) => {
      return { Id: `${at}`, ReceiptHandle: receiptHandle, VisibilityTimeout: leaseSeconds };
    });
    if (entries.length === 0) return;
    try {
      await sqs.send(
        new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries: entries }),
      );
    } catch (error) {
      log.warn('Message lease not renewed', { error });
    }
  };
  let renewing = renew();
  const timer = setInterval(() => {
    renewing = renewing.then(renew);
  }, renewMs);
  return {
    end: (record) => void held.delete(record),
    stop: () => {
      held.clear();
      clearInterval(timer);
      return renewing;
    },
  };
}
