// Which rows of the table of routes a request's path fits.

import { present } from '#core/shapes/derive/present.ts';
import { type RouteRow, routes } from '#functions/routes.ts';

/**
 * The path in the form of the table of routes: below the mount, without trailing slash and
 * `.json`.
 */
export function apiPath(rawPath: string): string {
  const below = rawPath.replace(/^\/accelerator(?=\/|$)/, '');
  return below.replace(/\/+$/, '').replace(/\.json$/, '') || '/';
}

export interface RouteMatch {
  readonly row: RouteRow;
  /** Value of `{id}`, decoded. */
  readonly id?: string;
}

/** The rows whose path fits, whatever their method. */
export function matchPath(path: string): RouteMatch[] {
  const segments = path.split('/');
  return routes.flatMap((row) => {
    const rowSegments = row.path.split('/');
    const fits =
      rowSegments.length === segments.length &&
      rowSegments.every((part, index) => part === '{id}' || part === segments[index]);
    if (!fits) return [];
    const index = rowSegments.indexOf('{id}');
    const id = index === -1 ? undefined : decode(segments[index] ?? '');
    return [{ row, ...present({ id }) }];
  });
}

/** A malformed escape is not decoded: the id is not found then. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
