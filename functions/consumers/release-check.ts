// The question of AWS CodeDeploy before a new version of a function gets its first request: may
// it? Each new version answers a call here that changes nothing. So a release that does not load,
// has a wrong setting or cannot sign in at Keystone reaches no server.
// https://docs.aws.amazon.com/codedeploy/latest/userguide/reference-appspec-file-structure-hooks.html

import { setTimeout as sleep } from 'node:timers/promises';
import { type Aws, openAws } from '#core/clients/aws/call.ts';
import { createLog } from '#core/log.ts';
import { newVersionsVariable } from '#core/settings.ts';

/** CodeDeploy's event of a hook. */
export interface HookEvent {
  readonly DeploymentId: string;
  readonly LifecycleEventHookExecutionId: string;
}

/** `name:number` of a function's version. */
type Version = string;

/** Permissions of a release may take half a minute to work. */
const attemptsMax = 5;
const pauseMs = 8000;

/** Keystone refuses it: so the version has settings, and its own sign-in at Keystone works. */
const wrongToken = 'release-check';

const log = createLog('release-check');
let aws: Aws | undefined;

/** Answers CodeDeploy in any case: without an answer it would wait for an hour. */
export async function handler(event: HookEvent): Promise<void> {
  aws ??= await openAws();
  const own = aws;
  const faults = await faultsOf((process.env[newVersionsVariable] ?? '').split(','), own);
  if (faults.length > 0) log.error('Release refused', { faults });
  else log.info('Release accepted');
  await own.json('codedeploy', 'CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus', {
    deploymentId: event.DeploymentId,
    lifecycleEventHookExecutionId: event.LifecycleEventHookExecutionId,
    status: faults.length > 0 ? 'Failed' : 'Succeeded',
  });
}

async function faultsOf(versions: readonly Version[], own: Aws): Promise<string[]> {
  let left = versions;
  for (let attempt = 1; ; attempt++) {
    const outcomes = await Promise.all(
      left.map(async (version) => ({ version, fault: await faultOf(version, own) })),
    );
    const bad = outcomes.filter(({ fault }) => fault !== undefined);
    if (bad.length === 0 || attempt >= attemptsMax) {
      return bad.map(({ version, fault }) => `${version}: ${fault}`);
    }
    left = bad.map(({ version }) => version);
    await sleep(pauseMs);
  }
}

/** Undefined if the version works. */
async function faultOf(version: Version, own: Aws): Promise<string | undefined> {
  const [name = '', number] = version.split(':');
  const path = `/2015-03-31/functions/${name}/invocations?Qualifier=${number}`;
  const isOfApi = !/-(changes|announcements)$/.test(name);
  try {
    const answer = await own.post('lambda', path, isOfApi ? novasRequest(name) : { Records: [] });
    if (typeof answer?.errorType === 'string') {
      return `${answer.errorType}: ${String(answer.errorMessage)}`;
    }
    if (!isOfApi || answer?.statusCode === 401) return undefined;
    return `answers ${String(answer?.statusCode)}: ${String(answer?.body).slice(0, 200)}`;
  } catch (error) {
    return String(error);
  }
}

/** A request as API Gateway passes it on, but for its token. */
function novasRequest(name: string): object {
  const resource = name.endsWith('-device-profiles') ? 'device_profiles' : 'accelerator_requests';
  const path = `/accelerator/v2/${resource}`;
  return {
    version: '2.0',
    rawPath: path,
    rawQueryString: '',
    headers: { 'x-auth-token': wrongToken, host: wrongToken, 'x-forwarded-proto': 'https' },
    requestContext: {
      http: { method: 'GET', path, sourceIp: '127.0.0.1', userAgent: wrongToken },
      domainName: wrongToken,
      requestId: crypto.randomUUID(),
      stage: '$default',
    },
    isBase64Encoded: false,
  };
}
