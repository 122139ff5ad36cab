// Stands in for `@aws-sdk/credential-provider-node` in our bundles. A function's credentials are in
// its environment, and nowhere else; the SDK's own chain asks there first, too, but carries clients
// for SSO, STS and instance metadata: a quarter of a bundle, and a third of the time to load it.

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** By the name under which the SDK's clients import it. */
export function defaultProvider(): () => Promise<Credentials> {
  return async () => {
    const {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_SESSION_TOKEN: sessionToken,
    } = process.env;
    if (!accessKeyId || !secretAccessKey) {
      throw new Error('The environment has no AWS credentials: this is no Lambda function.');
    }
    return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
  };
}
