// The errors of this SQS API. New clients read the shape's name in the body; older clients read
// the code of the query protocol in a header.

const queryCodes = {
  BatchEntryIdsNotDistinct: 'AWS.SimpleQueueService.BatchEntryIdsNotDistinct',
  BatchRequestTooLong: 'AWS.SimpleQueueService.BatchRequestTooLong',
  EmptyBatchRequest: 'AWS.SimpleQueueService.EmptyBatchRequest',
  InvalidAttributeName: 'InvalidAttributeName',
  InvalidAttributeValue: 'InvalidAttributeValue',
  InvalidBatchEntryId: 'AWS.SimpleQueueService.InvalidBatchEntryId',
  InvalidMessageContents: 'InvalidMessageContents',
  InvalidParameterValue: 'InvalidParameterValue',
  MessageNotInflight: 'AWS.SimpleQueueService.MessageNotInflight',
  MissingParameter: 'MissingParameter',
  QueueDoesNotExist: 'AWS.SimpleQueueService.NonExistentQueue',
  QueueNameExists: 'QueueAlreadyExists',
  ReceiptHandleIsInvalid: 'ReceiptHandleIsInvalid',
  ResourceNotFoundException: 'ResourceNotFoundException',
  TooManyEntriesInBatchRequest: 'AWS.SimpleQueueService.TooManyEntriesInBatchRequest',
  UnsupportedOperation: 'AWS.SimpleQueueService.UnsupportedOperation',
} as const;

/** An error of the caller, answered 400. Every other error is the fake's own: 500. */
export class SqsError extends Error {
  override readonly name = 'SqsError';
  readonly shape: keyof typeof queryCodes;

  constructor(shape: keyof typeof queryCodes, message: string) {
    super(message);
    this.shape = shape;
  }

  get queryError(): string {
    return `${queryCodes[this.shape]};Sender`;
  }
}

export function queueDoesNotExist(): SqsError {
  return new SqsError('QueueDoesNotExist', 'The specified queue does not exist.');
}
