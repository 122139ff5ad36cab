// Replaces AWS clients in bundles of functions that have no access to their service according to
// access.ts: a third of what each cold start would load.

class Unneeded {
  constructor() {
    throw new Error('This function has no permission for that service: see infra/access.ts.');
  }
}

/** The names that core/clients imports, and that of the SDK for streams of events. */
export {
  Unneeded as AssumeRoleCommand,
  Unneeded as CancelJobCommand,
  Unneeded as CreateJobCommand,
  Unneeded as DescribeJobExecutionCommand,
  Unneeded as EventStreamSerde,
  Unneeded as GetObjectCommand,
  Unneeded as HeadObjectCommand,
  Unneeded as IoTClient,
  Unneeded as IoTDataPlaneClient,
  Unneeded as PublishCommand,
  Unneeded as PutObjectCommand,
  Unneeded as S3Client,
  Unneeded as STSClient,
};

export async function getSignedUrl(): Promise<never> {
  throw new Unneeded();
}
