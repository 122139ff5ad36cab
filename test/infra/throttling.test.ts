import { describe, expect, it } from 'vitest';
import { gatewayRoutes } from '#functions/gateway.ts';
import { stage as stageName, synthesize } from '#infra/privileges/synthesized.ts';
import { burstOf, isOnNovaPath, routeKey } from '#infra/settings/throttling.ts';

/**
 * Quota of an account in the smallest regions:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 */
const quota = { perSecond: 2500, burst: 1250 };

const stack = synthesize();
const [stage] = stack.ofType('AWS::ApiGatewayV2::Stage');
const { DefaultRouteSettings: usual, RouteSettings: own } = stage?.properties ?? {};
const { 'ANY /console/sign-in': ofSignIns, ...special } = own;
const keys = stack.ofType('AWS::ApiGatewayV2::Route').map(({ properties }) => properties.RouteKey);

/** The calls of Nova, by the methods of nova/accelerator/cyborg.py, each with its route key. */
const novaCalls: readonly (readonly [call: string, key: string])[] = [
  ['GET /v2/device_profiles', 'GET /v2/device_profiles'],
  ['POST /v2/accelerator_requests', 'POST /v2/accelerator_requests'],
  ['PATCH /v2/accelerator_requests', 'PATCH /v2/accelerator_requests'],
  ['GET /v2/accelerator_requests', 'GET /v2/accelerator_requests'],
  ['DELETE /v2/accelerator_requests', 'DELETE /v2/accelerator_requests'],
  ['GET /v2/accelerator_requests/x', 'ANY /v2/accelerator_requests/{proxy+}'],
];

describe('throttling', () => {
  it.each(['', '/accelerator'])("counts each of Nova's calls below '%s' by itself", (mount) => {
    const below = (call: string) => call.replace(' ', ` ${mount}`);
    const keyOf = (call: string) => {
      const any = call.replace(/^[A-Z]+/, 'ANY');
      const greedy = keys.filter((key) => key.endsWith('/{proxy+}'));
      return (
        keys.find((key) => key === call) ??
        keys.find((key) => key === any) ??
        greedy.find((key) => any.startsWith(key.slice(0, -'{proxy+}'.length)))
      );
    };
    for (const [call, key] of novaCalls) expect(keyOf(below(call))).toBe(below(key));
    const own = Object.keys(special).filter((key) => key.includes('/accelerator/v2') === !!mount);
    expect(own.sort()).toEqual(novaCalls.map(([, key]) => below(key)).sort());
  });

  it('gives Nova a hundred times the rate of other callers', () => {
    for (const settings of Object.values(special)) {
      expect(settings).toEqual({ ThrottlingRateLimit: 2000, ThrottlingBurstLimit: 1000 });
    }
    expect(usual).toEqual({ ThrottlingRateLimit: 14, ThrottlingBurstLimit: 7 });
  });

  it('gives sign-ins, which all operators share with callers without a token, more than others', () => {
    expect(ofSignIns).toEqual({ ThrottlingRateLimit: 30, ThrottlingBurstLimit: 15 });
    expect(keys).toContain('ANY /console/sign-in');
  });

  it('leaves Nova its share of the account while every other route is at its limit', () => {
    const others = gatewayRoutes.filter((route) => !isOnNovaPath(route) && isDeployed(route));
    const usually = others.length - 1;
    const perSecond = usually * usual.ThrottlingRateLimit + ofSignIns.ThrottlingRateLimit;
    const burst = usually * usual.ThrottlingBurstLimit + ofSignIns.ThrottlingBurstLimit;
    expect(perSecond + 2000).toBeLessThanOrEqual(quota.perSecond);
    expect(burst + 1000).toBeLessThanOrEqual(quota.burst);
    expect(burstOf(1)).toBe(1);
  });

  it('names routes that exist before the stage does', () => {
    for (const key of Object.keys(own)) expect(keys).toContain(key);
    const routeIds = stack.ofType('AWS::ApiGatewayV2::Route').map(({ id }) => id);
    expect(stage?.dependsOn).toEqual(expect.arrayContaining(routeIds));
  });

  it('has the values of the deployment', () => {
    const [own] = synthesize({ novaRequestsPerSecond: '400', otherRequestsPerSecond: 5 }).ofType(
      'AWS::ApiGatewayV2::Stage',
    );
    expect(own?.properties.DefaultRouteSettings.ThrottlingRateLimit).toBe(5);
    expect(own?.properties.RouteSettings['GET /v2/device_profiles'].ThrottlingRateLimit).toBe(400);
  });

  function isDeployed(route: (typeof gatewayRoutes)[number]): boolean {
    return keys.includes(routeKey(route));
  }
});

describe('the access log', () => {
  const format: Record<string, string> = JSON.parse(stage?.properties.AccessLogSettings.Format);

  it('is JSON, and has the request id', () => {
    expect(format.request).toBe('$context.requestId');
  });

  it('has no header, no query, and so no token', () => {
    const { stage: ofMetric, ...variables } = format;
    expect(ofMetric).toBe(stageName);
    for (const value of Object.values(variables)) {
      expect(value).toMatch(/^\$context\.[a-zA-Z.]+$/);
      expect(value).not.toMatch(/header|querystring|authorizer/i);
    }
  });
});
