// How many requests API Gateway lets through. It counts by route, and whatever it turns away gets a
// 429 in its own words. Nova takes that for a failed build, so its routes come last to it: the
// others together may take less than what Nova's leave of the account's quota.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html

import type { CfnStage } from 'aws-cdk-lib/aws-apigatewayv2';
import { type GatewayRoute, gatewayRoutes } from '#functions/gateway.ts';

export interface Throttling {
  /** Requests a second, of each of Nova's routes. */
  readonly nova: number;
  /** Requests a second, of each other route. */
  readonly others: number;
}

/** As API Gateway names it. */
export function routeKey({ path }: GatewayRoute): string {
  return path === '$default' ? path : `ANY ${path}`;
}

/** What Nova asks in the life of a server: the profile by its name, and requests in all ways. */
export function isOnNovaPath({ path }: GatewayRoute): boolean {
  return /^(\/accelerator)?\/v2\/(device_profiles|accelerator_requests(\/\{proxy\+\})?)$/.test(
    path,
  );
}

/** A burst is what a bucket holds, as the account's own, of half a second. */
export function burstOf(perSecond: number): number {
  return Math.max(Math.ceil(perSecond / 2), 1);
}

/** Nova's routes; all others have the stage's default. */
export function novaRouteSettings({ nova }: Throttling): NonNullable<CfnStage['routeSettings']> {
  const settings = { ThrottlingRateLimit: nova, ThrottlingBurstLimit: burstOf(nova) };
  return Object.fromEntries(
    gatewayRoutes.filter(isOnNovaPath).map((route) => [routeKey(route), settings]),
  );
}
