// Stands in for AWS's clients in the bundles of functions that access.ts gives nothing to do with them:
// a third of what they would load at each cold start.

class Unneeded {
  constructor() {
    throw new Error('This function has no right to call that service: see infra/access.ts.');
  }
}

/** By the names under which core/clients imports them. */
export {
  Unneeded as CancelJobCommand,
  Unneeded as CreateJobCommand,
  Unneeded as DescribeJobExecutionCommand,
  Unneeded as GetObjectCommand,
  Unneeded as HeadObjectCommand,
  Unneeded as IoTClient,
  Unneeded as PutObjectCommand,
  Unneeded as S3Client,
};

export async function getSignedUrl(): Promise<never> {
  throw new Unneeded();
}
