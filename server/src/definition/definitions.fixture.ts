/** Texts of definitions for the tests of this room. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseDefinition } from "./parse-definition.ts";

const ROOT = join(import.meta.dirname, "../../..");
const FOLDERS = ["examples/agents", "examples/automations"].map((folder) => join(ROOT, folder));

/** The definitions among the examples by file name. */
export const examples = (): [string, string][] =>
  FOLDERS.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".yaml"))
      .map((name): [string, string] => [name, readFileSync(join(folder, name), "utf8")]),
  );

/** The YAML blocks of docs/definitions.md by their line, each made whole. */
export function documented(): [string, string][] {
  const page = readFileSync(join(ROOT, "docs/definitions.md"), "utf8");
  return [...page.matchAll(/^```yaml\n([^]*?)^```/gm)].map((match) => {
    const line = page.slice(0, match.index).split("\n").length;
    return [`docs/definitions.md:${line}`, whole(match[1]!)];
  });
}

const HEAD = "document: {dsl: '1.0.3', namespace: demo, name: sample, version: '1.0.0'}\n";

/** A definition of which the parts that are not shown are the plainest. */
export function whole(part: string): string {
  const head = /^document:/m.test(part) ? "" : HEAD;
  return head + part + (/^do:/m.test(part) ? "" : "\ndo:\n  - done: {set: {done: true}}\n");
}

/** Every part of the profile once. */
export const EVERYTHING = `
document:
  dsl: '1.0.3'
  namespace: demo
  name: everything
  version: '1.2.3-rc.1+build.5'
  title: Everything
  summary: |
    Every part of the profile.
  tags: {team: billing, tier: 2}
  metadata: {owner: {mail: a@example.com}}
evaluate: {language: jq, mode: strict}
input:
  schema:
    format: json
    document:
      type: object
      title: An order
      properties:
        customer: {type: string, title: Customer, minLength: 1, maxLength: 100}
        size: {type: string, enum: [small, large], default: small}
        colour: {type: string, oneOf: [{const: r, title: Red}, {const: g}]}
        due: {type: string, format: date}
        count: {type: integer, minimum: 1, maximum: 10, multipleOf: 1}
        price: {type: number, exclusiveMinimum: 0, exclusiveMaximum: 1000}
        gift: {type: boolean, default: false}
        tags: {type: array, items: {type: string, enum: [a, b]}, minItems: 0, maxItems: 2, uniqueItems: true}
        id: {type: string}
      required: [customer]
      additionalProperties: false
  from: '\${ . + {received: true} }'
output:
  as: {result: '\${ . }'}
  schema: {document: {type: object, properties: {result: {type: [object, 'null']}}, required: [result]}}
timeout: {after: P1D}
use:
  secrets: [user, store.login]
  authentications:
    service: {basic: {username: user, password: word}}
    stored: {basic: {use: store.login}}
    spelled: {basic: {username: '\${ $secrets.user }', password: '\${ "\\($secrets["store.login"])-\\(.id)" }'}}
    digest: {digest: {username: user, password: '\${ $secrets.user }'}}
    client:
      oauth2:
        authority: https://login.example.com/realms/shop
        endpoints: {token: /protocol/token}
        grant: client_credentials
        client: {id: shop, secret: '\${ $secrets.user }', authentication: client_secret_basic}
        request: {encoding: application/json}
        scopes: [orders, '\${ .scope }']
        audiences: [api]
    storedClient: {oauth2: {use: user}}
    connect:
      oidc:
        authority: https://login.example.com/realms/shop
        grant: refresh_token
        client: {id: shop, assertion: '\${ $secrets.user }', authentication: private_key_jwt}
        request: {encoding: application/x-www-form-urlencoded}
        scopes: [openid]
        subject: {token: '\${ $secrets.user }', type: 'urn:ietf:params:oauth:token-type:refresh_token'}
    exchanged:
      oauth2:
        authority: https://login.example.com
        grant: 'urn:ietf:params:oauth:grant-type:token-exchange'
        client: {id: shop, authentication: none}
        subject: {token: '\${ .token }', type: 'urn:ietf:params:oauth:token-type:jwt'}
        actor: {token: '\${ $secrets.user }', type: 'urn:ietf:params:oauth:token-type:jwt'}
    signIn: {oauth2: {authority: https://login.example.com, grant: password, client: {id: a, secret: b}, username: c, password: '\${ $secrets.user }'}}
    token: {bearer: {token: '\${ $context.token }'}}
  errors:
    tooLate: {type: https://example.com/errors/too-late, status: 410, title: Too late, detail: '\${ .why }', instance: /do/0}
  retries:
    often: {delay: PT1S, backoff: {constant: {}}, limit: {attempt: {count: 3}}}
  timeouts:
    short: {after: {seconds: 30, milliseconds: 500}}
  functions:
    lookUp:
      input: {schema: {document: {type: object, required: [id]}}}
      call: http
      with: {method: get, endpoint: {uri: 'https://example.com/orders/{id}', authentication: {use: spelled}}}
    look-up.all:
      for: {each: one, in: '\${ .ids }'}
      do: [{one: {call: lookUp, with: {id: '\${ $one }'}, output: {as: '\${ .content }'}}}]
do:
  - prepare:
      if: \${ .customer != null }
      input: {from: '\${ . }', schema: {document: {type: object, minProperties: 1}}}
      set: {order: '\${ . }', list: [1, '\${ .count }', {deep: '\${ .customer }'}]}
      output: {as: '\${ .order }', schema: {format: json, document: true}}
      export: {as: {order: '\${ $output }'}, schema: {document: {type: object, additionalProperties: {type: object}}}}
      timeout: short
      metadata: {colour: blue}
      then: choose
  - choose:
      switch:
        - large: {when: '.size == "large"', then: ask}
        - other: {then: loop}
  - loop:
      for: {each: tag, in: '\${ .tags }', at: place}
      while: \${ $place < 5 and $tag != "stop" }
      do:
        - one: {set: '\${ {tag: $tag, place: $place} }'}
        - leave: {if: '\${ $place > 3 }', do: [{out: {set: {a: 1}, then: exit}}]}
  - guard:
      try:
        - get:
            call: http
            with:
              method: GET
              endpoint: {uri: 'https://example.com/orders/{id}', authentication: {use: service}}
              headers: {X-Trace: '\${ $task.name }', Accept: application/json}
              query: {page: '1', text: '\${ .due }'}
              output: response
              redirect: true
            timeout: {after: '\${ $context.patience // "PT9S" }'}
        - post:
            call: http
            with:
              method: post
              endpoint: \${ "https://example.com/\\(.content.id)" }
              headers: \${ .headers }
              query: \${ .content.query }
              body: {text: '\${ .content.text }', more: [1, null, true]}
              output: raw
        - late: {raise: {error: tooLate}}
      catch:
        errors: {with: {type: https://example.com/errors/too-late, status: 410, title: Too late}}
        as: problem
        when: \${ $problem.status == 410 }
        exceptWhen: \${ .detail == "never" }
        retry:
          when: \${ $problem.status > 400 }
          exceptWhen: \${ .status == 404 }
          delay: {seconds: 1}
          backoff: {exponential: {factor: 1.5, maxDelay: PT1M}}
          limit: {attempt: {count: 5, duration: PT10S}, duration: PT1H}
          jitter: {from: PT0S, to: PT1S}
        do:
          - note: {set: {problem: '\${ $problem.title }'}}
  - again:
      try: [{x: {raise: {error: {type: '\${ .problem.type }', status: 500, instance: '\${ .problem.at }'}}}}]
      catch: {retry: often}
  - linear:
      try: [{x: {wait: PT0S}}]
      catch: {retry: {delay: PT1S, backoff: {linear: {increment: PT1S}}, limit: {duration: PT1M}}, do: [{y: {set: {a: 1}}}]}
  - ask:
      call: approval:1.0.0@default
      with:
        question: \${ "Pay \\(.price)?" }
        context: {order: '\${ . }'}
        assignee: someone@example.com
        form: {type: object, properties: {note: {type: string, default: '\${ .customer }'}, amount: {type: number, default: '\${ .price }'}}}
        timeout: P2D
        onReject: continue
  - rest: {wait: {minutes: 1}}
  - tell:
      call: email:1.0.0@default
      with:
        to: ['Ada <ada@example.com>', '\${ .comment }']
        cc: grace@example.com
        bcc: '\${ .comment }'
        replyTo: desk@example.com
        subject: '\${ .comment }'
        text: '\${ .comment }'
        html: '<p>Hello</p>'
        attachments: [{name: a.csv, type: text/csv, content: '\${ .comment }'}]
  - announce:
      emit:
        event:
          with: {id: '\${ .comment }', source: https://shop.example, type: order.paid, time: '2026-11-20T10:00:00Z', subject: '\${ .comment }', data: {order: '\${ .answer }', all: [1, null]}, datacontenttype: application/json}
  - hear:
      listen:
        to:
          any:
            - with: {type: order.paid, source: https://shop.example, subject: s, id: '\${ .comment }', data: {status: [paid, '\${ .comment }'], n: 1}}
              correlate: {order: {from: .data.order, expect: '\${ .comment }'}, customer: {from: '\${ .customer }'}}
            - with: {type: '\${ .comment }', data: '\${ .total > 5 }'}
          until: {all: [{with: {type: order.closed}}]}
        read: envelope
      foreach:
        item: paid
        at: place
        do: [{note: {set: {paid: '\${ $paid.data }', place: '\${ $place }'}}}]
        output: {as: '\${ .paid }'}
  - classify:
      call: llm:1.0.0@default
      with:
        connection: cheap
        model: '\${ .comment }'
        system: You sort mail.
        prompt: '\${ .answer.note }'
        schema: {type: object, properties: {category: {type: string, enum: [billing, bug]}}, required: [category]}
        temperature: 0.5
        maxTokens: 500
        seed: 7
      timeout: {after: PT10M}
  - work:
      call: assistant:1.0.0@default
      with:
        connection: cheap
        model: '\${ .model }'
        instructions: '\${ "You serve \\(.customer)" }'
        prompt: '\${ .question }'
        schema: {type: object, properties: {done: {type: boolean}}}
        temperature: 0
        maxTokens: 100
        seed: 1
        tools:
          - mcp: {endpoint: {uri: 'https://example.com/mcp', authentication: {bearer: {token: '\${ $secrets.user }'}}}, headers: {X-Trace: a}, allow: [search], approval: true}
          - mcp: {endpoint: 'https://other.example.com/mcp', authentication: token, allow: [fetch]}
          - agent: {handle: invoice, namespace: billing, description: Pays., approval: '\${ $arguments.amount > 100 }'}
          - http: {name: createTicket, description: Opens a ticket., parameters: {type: object}, call: {method: post, endpoint: 'https://example.com/tickets', body: '\${ $arguments }'}, approval: false}
        limits: {iterations: 5, toolCalls: 5, tokens: 5000, seconds: 60, cost: 0.5}
        onLimit: answer
  - items:
      call: each:1.0.0@default
      with:
        in: \${ .answer.note | split(",") }
        item: order
        concurrency: 5
        onError: collect
        do:
          - price: {set: {price: '\${ $order.price }', place: '\${ $index }'}}
          - leave: {wait: PT0S, then: exit}
  - called: {call: look-up.all, with: {ids: ['\${ .id }', 7]}, export: {as: '\${ . }'}, timeout: short}
  - both:
      fork:
        branches:
          - left: {do: [{a: {wait: PT0S, then: end}}], then: exit}
          - right: {set: {side: right}, export: {as: '\${ {side: .side} }'}}
        compete: true
  - tool:
      call: mcp
      with:
        protocolVersion: '2025-11-25'
        method: tools/call
        parameters: {name: '\${ .tool }', arguments: {id: '\${ .id }', more: [1, null]}}
        timeout: {seconds: 30}
        transport: {http: {endpoint: {uri: 'https://example.com/{id}/mcp', authentication: {use: token}}, headers: {X-Trace: '\${ $task.name }'}}}
        client: {name: everything, version: '1.2.3'}
        onError: continue
  - api:
      call: openapi
      with:
        document: {name: pets, endpoint: {uri: 'https://example.com/{id}/openapi.json', authentication: {use: token}}}
        operationId: getPet
        parameters: {petId: '\${ .id }', more: [1, null]}
        authentication: {bearer: {token: '\${ $secrets.user }'}}
        output: content
        redirect: true
  - child:
      run:
        workflow: {namespace: billing, name: invoice, version: latest, input: {total: '\${ .total }', all: ['\${ $input }']}}
        await: false
  - script:
      run:
        script:
          language: js
          code: |
            return order.items.map(({price}) => price * rate);
          arguments: {order: '\${ . }', rate: 1.19, more: [1, '\${ .total }']}
      timeout: {after: PT2S}
  - nested: {do: [{hearOne: {listen: {to: {one: {with: {type: a}}}, read: raw}, foreach: {output: {as: '\${ . }'}}}}, {hearAll: {listen: {to: {all: [{with: {type: a}}, {with: {type: b}}]}}}}, {hearAny: {listen: {to: {any: [{with: {type: a}}], until: '\${ length > 3 }'}}, foreach: {}}}, {command: {call: mcp, with: {method: tools/list, transport: {stdio: {command: search-mcp, arguments: [--for, '\${ .id }'], environment: {TOKEN: '\${ $secrets.user }'}}}}}}, {prompts: {call: mcp, with: {method: prompts/list, parameters: '\${ .page }', transport: {http: {endpoint: 'https://example.com/mcp'}}}}}, {talk: {call: 'llm:1.0.0@default', with: {messages: [{role: user, content: '\${ .text }'}, {role: assistant, content: Yes}]}}}, {calledPlainly: {call: lookUp}}, {any: {run: {workflow: {namespace: sales, name: '\${ .agent }', version: 1.0.0}}}}, {inner: {wait: '\${ .pause }', then: end}}], timeout: {after: PT1H}, then: continue}
`;

/** Path and message of the problems of a definition of which only a part is given. */
export const problemsOf = (part: string): [string, string][] =>
  parseDefinition(whole(part)).problems.map(({ path, message }) => [path, message]);

/** The problems of one task `t`, paths from the task on. */
export const problemsOfTask = (task: string): [string, string][] =>
  problemsOf(`do:\n  - t: ${task}\n`).map(([path, message]) => [path.replace("/do/0/t", ""), message]);
