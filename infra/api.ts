import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  type CfnStage,
  HttpApi,
  HttpMethod,
  HttpRoute,
  HttpRouteKey,
  HttpStage,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Construct } from 'constructs';
import { type GatewayRoute, gatewayRoutes } from '#functions/gateway.ts';
import { type Resource, routes } from '#functions/routes.ts';
import { createAccessLog } from './access-log.ts';
import { constructId } from './construct-id.ts';
import { serveUnder } from './domain.ts';
import { LambdaFunction, type Surroundings } from './lambda-function.ts';
import { acknowledge } from './nag.ts';
import { burstOf, novaRouteSettings } from './throttling.ts';

// API Gateway waits 30 s at most; what takes longer answers nobody.
const timeoutSeconds = 29;

// A function's share of a processor follows its memory; from here on more makes a request no faster.
const memoryMb = 1024;

/** The HTTP API of functions/gateway.ts and a function for each resource. */
export class Api extends Construct {
  readonly url: string;
  readonly apiId: string;

  constructor(scope: Construct, id: string, surroundings: Surroundings) {
    super(scope, id);
    const { stage, domain } = surroundings.settings;
    const api = new HttpApi(this, 'HttpApi', {
      apiName: `${stage}-cyborg`,
      description: `OpenStack Cyborg, stage ${stage}`,
      createDefaultStage: false,
      // One name is enough to keep an eye on.
      disableExecuteApiEndpoint: domain !== undefined,
    });
    const integrations = new Map(
      [...new Set(routes.map((row) => row.resource))].map((resource) => [
        resource,
        this.#integration(surroundings, resource),
      ]),
    );
    const taken = gatewayRoutes.filter(isTaken).map((route) => {
      return new HttpRoute(this, routeId(route), {
        httpApi: api,
        routeKey:
          route.path === '$default'
            ? HttpRouteKey.DEFAULT
            : HttpRouteKey.with(route.path, HttpMethod.ANY),
        integration: integrations.get(route.resource) as HttpLambdaIntegration,
      });
    });
    const served = this.#addStage(api, surroundings);
    // A stage that has settings for a route cannot be made before the route.
    served.node.addDependency(...taken);
    if (domain) serveUnder(this, domain, { api, stage: served });
    acknowledge(
      this,
      'APIG4',
      'Functions check the Keystone token on every route but three documents, and say why they refuse ' +
        "in Cyborg's form; an authorizer of API Gateway would answer in its own.",
    );
    this.url = domain ? `https://${domain.name}` : api.apiEndpoint;
    this.apiId = api.apiId;
  }

  #integration(surroundings: Surroundings, resource: Resource): HttpLambdaIntegration {
    const handler = new LambdaFunction(this, surroundings, {
      name: resource,
      entry: `functions/${resource}/handler.ts`,
      timeoutSeconds,
      memoryMb,
    });
    // One permission for all of a resource's routes. The default route has a permission of its own: its
    // ARN has a segment less, and would not fit.
    const isOfDefaultRoute = resource === 'versions';
    return new HttpLambdaIntegration(constructId(resource), handler, {
      scopePermissionToRoute: isOfDefaultRoute,
    });
  }

  #addStage(httpApi: HttpApi, { settings }: Surroundings): HttpStage {
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
    (stage.node.defaultChild as CfnStage).routeSettings = novaRouteSettings(throttling);
    return stage;
  }
}

/**
 * API Gateway takes no route that ends with a slash. A request that does meets the resource's greedy
 * route. https://github.com/storacha/w3infra/pull/166
 */
function isTaken(route: GatewayRoute): boolean {
  return !route.path.endsWith('/');
}

function routeId({ path }: GatewayRoute): string {
  return path === '$default' ? 'DefaultRoute' : `Route ${path.replaceAll('/', ' ').trim()}`;
}
