import { fileURLToPath } from 'node:url';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  CfnIntegration,
  type CfnStage,
  HttpApi,
  HttpMethod,
  HttpRoute,
  HttpRouteKey,
  HttpStage,
  IpAddressType,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { CfnPermission, type IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { type GatewayRoute, gatewayRoutes } from '#functions/gateway.ts';
import type { Resource } from '#functions/routes.ts';
import { constructId } from '#infra/construct-id.ts';
import { createAccessLog } from '#infra/monitoring/access-log.ts';
import { acknowledge } from '#infra/nag.ts';
import { serveUnder } from '#infra/settings/domain.ts';
import { burstOf, routeSettings } from '#infra/settings/throttling.ts';
import { LambdaFunction, type Surroundings } from './lambda-function.ts';

// API Gateway waits at most 30 s, so a longer run has no caller.
const timeoutSeconds = 29;

// Lambda's CPU share grows with memory. A request of Nova's takes 2 to 5 ms of a CPU, and waits
// otherwise; the other functions have long lists.
const memoryMb = 1024;
const memoryMbForNova = 512;
const resourcesOfNova: readonly Resource[] = ['accelerator-requests', 'device-profiles'];

/** The HTTP API of functions/gateway.ts, with one function per resource. */
export class Api extends Construct {
  readonly url: string;
  readonly httpApi: HttpApi;

  constructor(scope: Construct, id: string, surroundings: Surroundings) {
    super(scope, id);
    const { stage, domain, hasConsole } = surroundings.settings;
    const api = new HttpApi(this, 'HttpApi', {
      apiName: `${stage}-cyborg`,
      description: `OpenStack Cyborg, stage ${stage}`,
      createDefaultStage: false,
      // Nova may be on a network without IPv4.
      ipAddressType: IpAddressType.DUAL_STACK,
      // With a domain the API has no second public name.
      disableExecuteApiEndpoint: domain !== undefined,
    });
    const served = gatewayRoutes.filter(
      (route) => isTaken(route) && (hasConsole || route.resource !== 'console'),
    );
    const integrations = new Map(
      [...new Set(served.map((route) => route.resource))].map((resource) => [
        resource,
        this.#integration(surroundings, resource),
      ]),
    );
    const taken = served.map((route) => {
      return new HttpRoute(this, routeId(route), {
        httpApi: api,
        routeKey:
          route.path === '$default'
            ? HttpRouteKey.DEFAULT
            : HttpRouteKey.with(route.path, HttpMethod[route.method ?? 'ANY']),
        integration: integrations.get(route.resource) as HttpLambdaIntegration,
      });
    });
    permitFirst(this);
    const apiStage = this.#addStage(api, surroundings, served);
    // CloudFormation must create the routes before a stage with route settings.
    apiStage.node.addDependency(...taken);
    if (domain) serveUnder(this, domain, { api, stage: apiStage });
    acknowledge(
      this,
      'APIG4',
      'Functions check the Keystone token on every route but three documents and the console, and say ' +
        "why they refuse in Cyborg's form; an authorizer of API Gateway would answer in its own.",
    );
    this.url = domain ? `https://${domain.name}` : api.apiEndpoint;
    this.httpApi = api;
  }

  #integration(surroundings: Surroundings, resource: Resource): HttpLambdaIntegration {
    const handler = new LambdaFunction(this, surroundings, {
      name: resource,
      entry: `functions/${resource}/handler.ts`,
      timeoutSeconds,
      memoryMb: resourcesOfNova.includes(resource) ? memoryMbForNova : memoryMb,
      ...(resource === 'console' && { addFiles: consoleFilesInto }),
    });
    // One permission for all routes of a resource. The default route has its own: its ARN has one
    // segment less and would not match.
    const isOfDefaultRoute = resource === 'versions';
    // The CDK's own types contradict each other under exactOptionalPropertyTypes.
    const to = (handler.live ?? handler) as IFunction;
    return new HttpLambdaIntegration(constructId(resource), to, {
      scopePermissionToRoute: isOfDefaultRoute,
    });
  }

  #addStage(
    httpApi: HttpApi,
    { settings }: Surroundings,
    served: readonly GatewayRoute[],
  ): HttpStage {
    const { log, format } = createAccessLog(this, settings);
    const { throttling } = settings;
    const stage = new HttpStage(this, 'Stage', {
      httpApi,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: throttling.others, burstLimit: burstOf(throttling.others) },
      accessLogSettings: {
        destination: new LogGroupLogDestination(log),
        format: AccessLogFormat.custom(format),
      },
    });
    (stage.node.defaultChild as CfnStage).routeSettings = routeSettings(throttling, served);
    return stage;
  }
}

/** An update leads requests to another name of a function only after the permission for it. */
function permitFirst(api: Construct): void {
  const all = api.node.findAll();
  const permissions = all.filter((each) => each instanceof CfnPermission);
  for (const each of all) {
    if (each instanceof CfnIntegration) each.node.addDependency(...permissions);
  }
}

const bundler = fileURLToPath(new URL('../bundle/bundle-console.ts', import.meta.url));

/** The command that writes the console's files beside the bundle of its function. */
export function consoleFilesInto(folder: string): string {
  return `"${process.execPath}" "${bundler}" --out "${folder}/console"`;
}

/**
 * API Gateway accepts no route that ends with a slash. A request with a trailing slash matches
 * the resource's greedy route. https://github.com/storacha/w3infra/pull/166
 */
function isTaken(route: GatewayRoute): boolean {
  return !route.path.endsWith('/');
}

function routeId({ path, method }: GatewayRoute): string {
  if (path === '$default') return 'DefaultRoute';
  return `Route ${method ? `${method} ` : ''}${path.replaceAll('/', ' ').trim()}`;
}
