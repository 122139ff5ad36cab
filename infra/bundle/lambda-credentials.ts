// Replaces `@aws-sdk/credential-provider-node` in our bundles. A function's credentials are only
// in its environment. The SDK's own chain also reads them there first, but brings clients for
// SSO, STS and instance metadata: a quarter of a bundle, and a third of its load time.

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** The name that the SDK's clients import. */
export function defaultProvider(): () => Promise<Credentials> {
  return async () => {
    const {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_SESSION_TOKEN: sessionToken,
    } = process.env;
    if (!accessKeyId || !secretAccessKey) {
      throw new Error(
        'The environment has no AWS credentials: this code runs in Lambda functions only.',
      );
    }
    return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
  };
}
