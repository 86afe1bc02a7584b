-- An app made from a starter like taxonomy (Prisma, Auth.js): each person pays, and has a price and the end of a period,
-- but no status and no name of a plan.

create table "User" (
  "id"                     text primary key,
  "name"                   text,
  "email"                  text unique,
  "emailVerified"          timestamp(3),
  "image"                  text,
  "createdAt"              timestamp(3) not null default current_timestamp,
  "updatedAt"              timestamp(3) not null default current_timestamp,
  "stripeCustomerId"       text unique,
  "stripeSubscriptionId"   text unique,
  "stripePriceId"          text,
  "stripeCurrentPeriodEnd" timestamp(3)
);

create table "Account" (
  "id"                text primary key,
  "userId"            text not null references "User" ("id"),
  "provider"          text not null,
  "providerAccountId" text not null
);
