import type { JsonObject, JsonValue } from 'troupe';

import type { Route } from './route.ts';
import { PROBLEM } from './schemas.ts';

/** The OpenAPI 3.1 document of the routes: made of the schemas that validate requests. */
export function openApiOf(routes: readonly Route[], { isOpen }: { readonly isOpen: boolean }): JsonObject {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method] = operationOf(route);
  return {
    openapi: '3.1.0',
    info: { title: 'Agents of troupe', version: '1' },
    paths,
    components: {
      schemas: { Problem: PROBLEM },
      ...(!isOpen && { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } }),
    },
    ...(!isOpen && { security: [{ bearer: [] }] }),
  };
}

function operationOf({
  method,
  path,
  summary,
  query = {},
  headers = {},
  body,
  takes,
  status,
  answer,
  mediaType,
  isPublic,
}: Route): JsonObject {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const parameters = [
    ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema })),
    ...Object.entries(headers).map(([name, schema]) => ({ name, in: 'header', schema })),
  ];
  const type = mediaType ?? 'application/json';
  const content =
    answer !== undefined || mediaType !== undefined
      ? { content: { [type]: { schema: answer ?? { type: 'string' } } } }
      : {};
  const problem = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
  return {
    operationId: `${method} ${path}`.replace(/[^a-z]+/gi, '_').replace(/_$/, ''),
    summary,
    ...(isPublic === true && { security: [] }),
    parameters,
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: body } } },
    }),
    ...(takes !== undefined && {
      requestBody: { required: true, content: { [takes]: { schema: { type: 'string', format: 'binary' } } } },
    }),
    responses: {
      [String(status)]: { description: 'Done.', ...content },
      default: { description: 'Refused.', content: problem },
    },
  };
}

/** A page that lists the operations and tries them, without any script from elsewhere. */
export const DOCS_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Agents of troupe</title><link rel="stylesheet" href="docs.css"><h1>Agents of troupe</h1>
<p>The <a href="openapi.json">OpenAPI document</a> describes every operation.</p>
<label>Token <input id="token" type="password" autocomplete="off"></label><main id="operations"></main><script src="docs.js"></script></html>`;

export const DOCS_STYLE = `body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}details{border:1px solid #8888;border-radius:.5rem;margin:.5rem 0;padding:.5rem 1rem}
summary{cursor:pointer}code{font:.9em ui-monospace,monospace}textarea,input{width:100%;box-sizing:border-box;font:.9em ui-monospace,monospace}pre{overflow:auto;background:#8881;padding:.5rem}
:root{color-scheme:light dark}`;

export const DOCS_SCRIPT = `const add=(parent,tag,text)=>{const e=document.createElement(tag);if(text!==undefined)e.textContent=text;parent.append(e);return e};
fetch('openapi.json').then(r=>r.json()).then(({paths})=>{for(const [path,methods] of Object.entries(paths))for(const [method,op] of Object.entries(methods)){
const box=add(document.getElementById('operations'),'details');const head=add(box,'summary');add(head,'code',method.toUpperCase()+' '+path);add(head,'span',' '+op.summary);
const label=add(box,'label','Path and query ');const target=add(label,'input');target.value=path;
const json=op.requestBody&&op.requestBody.content['application/json'];const schema=json?json.schema:op.requestBody&&'bytes';let body;
if(schema){body=add(add(box,'label','Body '),'textarea');body.rows=4;body.value=json?'{}':'';add(box,'pre',JSON.stringify(schema,null,1))}
const send=add(box,'button','Send');const out=add(box,'pre');
send.onclick=async()=>{out.textContent='';const token=document.getElementById('token').value;const headers={};if(token)headers.authorization='Bearer '+token;if(body)headers['content-type']=json?'application/json':'application/octet-stream';
const r=await fetch(target.value.slice(1),{method:method.toUpperCase(),headers,body:body?body.value:undefined});out.textContent=r.status+' '+r.statusText+'\\n';
const reader=r.body&&r.body.pipeThrough(new TextDecoderStream()).getReader();if(reader)for(;;){const {done,value}=await reader.read();if(done)break;out.textContent+=value}}}})`;
